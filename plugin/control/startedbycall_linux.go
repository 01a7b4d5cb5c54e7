// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// startedByCall reports whether a session's call started process pid: then a keeper is among its ancestors, because a
// keeper adopts all orphans below it. If a process cannot be read, startedByCall returns true.
func startedByCall(pid int) bool {
	for pid != 1 {
		if pid <= 0 {
			return true // a process of another pid namespace
		}
		argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return true
		}
		name, _, _ := bytes.Cut(argv, []byte{0})
		if string(name) == proctree.KeeperName {
			return true
		}
		if pid, err = parent(pid); err != nil {
			return true
		}
	}
	return false
}

// parent returns the parent of process pid.
func parent(pid int) (int, error) {
	fields, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(fields[1]))
}

// suspended reports whether a signal (SIGSTOP, SIGTSTP) has suspended process pid.
func suspended(pid int) bool {
	fields, err := statFields(pid)
	return err == nil && string(fields[0]) == "T"
}

// statFields returns the fields of proc_pid_stat(5) from the state on: state, parent and so on. The name in
// parentheses before them may contain any byte.
func statFields(pid int) ([][]byte, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return nil, fmt.Errorf("process %d has no parent", pid)
	}
	return fields, nil
}
