// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// deletedFiles returns the usage of deleted files of the directories of requests that processes of the container still
// have open. pid is the container's first process. Only root can inspect all processes.
func deletedFiles(pid int) usage {
	used := usage{empty: true}
	own, err := os.Readlink(namespace(strconv.Itoa(pid)))
	if pid <= 0 || err != nil {
		return used
	}
	all, _ := os.ReadDir("/proc")
	seen := map[uint64]bool{}
	for _, p := range all {
		if p.Name()[0] < '0' || p.Name()[0] > '9' {
			continue
		}
		if ns, err := os.Readlink(namespace(p.Name())); err != nil || ns != own {
			continue
		}
		fds, _ := os.ReadDir("/proc/" + p.Name() + "/fd")
		for _, fd := range fds {
			at := "/proc/" + p.Name() + "/fd/" + fd.Name()
			name, err := os.Readlink(at)
			if err != nil || !strings.HasPrefix(name, state.Target+"/") || !strings.HasSuffix(name, " (deleted)") {
				continue
			}
			fi, err := os.Stat(at)
			if err != nil {
				continue
			}
			if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Nlink == 0 && !seen[st.Ino] {
				seen[st.Ino] = true
				used.bytes += st.Blocks * 512
				used.empty = false
			}
		}
	}
	return used
}

func namespace(pid string) string { return "/proc/" + pid + "/ns/pid" }
