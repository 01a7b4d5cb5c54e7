// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package control

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// called reports whether process pid was started by a call of some session: its ancestors
// end at a keeper, which adopts whatever loses its parent below it. It is true of a process
// that cannot be looked at.
func called(pid int) bool {
	for pid != 1 {
		if pid <= 0 {
			return true // of another pid namespace
		}
		argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return true
		}
		name, _, _ := bytes.Cut(argv, []byte{0})
		if string(name) == state.KeeperName {
			return true
		}
		if pid, err = parent(pid); err != nil {
			return true
		}
	}
	return false
}

// parent is field 4 of proc_pid_stat(5). What stands in parentheses before may hold
// anything.
func parent(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("process %d has no parent", pid)
	}
	return strconv.Atoi(string(fields[1]))
}
