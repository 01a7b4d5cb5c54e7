// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"fmt"
	"os"

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
		var ok bool
		if _, pid, _, ok = proctree.Stat(pid); !ok {
			return true
		}
	}
	return false
}

// suspended reports whether a signal (SIGSTOP, SIGTSTP) has suspended process pid.
func suspended(pid int) bool {
	state, _, _, _ := proctree.Stat(pid)
	return state == 'T'
}
