// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// listens reports whether a process of the request listens on port. pid is the request's first
// process.
func listens(id string, pid int, port uint16) bool {
	sockets := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		listening(fmt.Sprintf("/proc/%d/net/%s", pid, table), port, sockets)
	}
	if len(sockets) == 0 {
		return false
	}
	for _, member := range proctree.Tree(id) {
		dir := fmt.Sprintf("/proc/%d/fd", member)
		fds, _ := os.ReadDir(dir) // empty for a process that has just ended or that belongs to another user
		for _, fd := range fds {
			if link, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && sockets[link] {
				return true
			}
		}
	}
	return false
}

// listening adds to sockets the names, as in /proc/PID/fd, of the sockets in a table that listen on
// port. In a table (proc_net(5)), column 2 is the local address, column 4 the state and column 10
// the inode.
func listening(table string, port uint16, sockets map[string]bool) {
	const listen = "0A"
	f, err := os.Open(table)
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		col := strings.Fields(lines.Text())
		if len(col) < 10 || col[3] != listen {
			continue
		}
		_, hex, _ := strings.Cut(col[1], ":")
		if n, err := strconv.ParseUint(hex, 16, 16); err == nil && uint16(n) == port {
			sockets["socket:["+col[9]+"]"] = true
		}
	}
}
