// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// look finds out what 0, 1 and 2 are, and writes it into req. None rides along: all is pumped.
func look(req *wire.Exec) (riders []int) {
	var st [3]syscall.Stat_t
	for fd := range st {
		req.FDs[fd] = classify(fd, &st[fd])
	}
	req.SameOut = req.FDs[1] != wire.FDNull && req.FDs[1] == req.FDs[2] && sameFile(&st[1], &st[2])
	return nil
}

func classify(fd int, st *syscall.Stat_t) wire.FD {
	if syscall.Fstat(fd, st) != nil {
		return wire.FDNull
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return wire.FDFile
	case syscall.S_IFCHR:
		var null syscall.Stat_t
		if syscall.Stat("/dev/null", &null) == nil && st.Rdev == null.Rdev {
			return wire.FDNull
		}
	}
	return wire.FDOther
}

// getcwd returns where the shim stands, or nothing where that is out of reach: the host
// refuses such a caller.
func getcwd() string {
	dir, err := syscall.Getwd()
	if err != nil || dir == "" || dir[0] != '/' { // (unreachable)
		return ""
	}
	return dir
}

// relays is false: a relay is of containers, and what runs in those is Linux's.
func relays([]string) bool { return false }

func relayed([]string) int { return wire.CodeFailed }
