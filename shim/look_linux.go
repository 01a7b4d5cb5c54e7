// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

const (
	pipefsMagic = 0x50495045 // PIPEFS_MAGIC of linux/magic.h
	devNull     = 1<<8 | 3   // character device 1:3
	oPath       = 0x200000   // O_PATH, the same on every architecture of ours
)

// look finds out what 0, 1 and 2 are, writes it into req, and returns those that ride
// along, in order. The runtime has opened /dev/null for whichever was closed.
func look(req *wire.Exec) (riders []int) {
	var st [3]syscall.Stat_t
	for fd := range st {
		req.FDs[fd] = classify(fd, &st[fd])
	}
	pty := req.FDs[0] == wire.FDTTY && req.FDs[1] == wire.FDTTY
	if pty {
		req.Winsize = winsize(0)
	}
	for fd := range st {
		switch req.FDs[fd] {
		case wire.FDNull, wire.FDFile, wire.FDOther:
			continue
		case wire.FDTTY:
			if pty {
				continue
			}
		}
		if !passable(fd, req.FDs[fd], &st[fd]) {
			req.FDs[fd] = wire.FDOther
			continue
		}
		if req.FDs[fd] == wire.FDPipe && st[fd].Mode&0o666 != 0o666 {
			// So that the host's command, of another user, can open /dev/stdout.
			syscall.Fchmod(fd, 0o666)
		}
		req.Passed |= 1 << fd
		riders = append(riders, fd)
	}
	req.SameOut = req.FDs[1] != wire.FDNull && req.FDs[1] == req.FDs[2] && sameFile(&st[1], &st[2])
	return riders
}

func classify(fd int, st *syscall.Stat_t) wire.FD {
	if syscall.Fstat(fd, st) != nil {
		return wire.FDNull
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return wire.FDFile
	case syscall.S_IFIFO:
		var fs syscall.Statfs_t
		if syscall.Fstatfs(fd, &fs) == nil && uint32(fs.Type) == pipefsMagic {
			return wire.FDPipe
		}
	case syscall.S_IFSOCK:
		typ, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE)
		if err == nil && typ == syscall.SOCK_STREAM {
			return wire.FDSocket
		}
	case syscall.S_IFCHR:
		if uint64(st.Rdev) == devNull {
			return wire.FDNull
		}
		if isTerminal(fd) {
			return wire.FDTTY
		}
	}
	return wire.FDOther
}

// passable reports whether the host would take fd: it is open in the right direction,
// and a terminal is one side of a Unix98 pair (majors 136 to 143), not /dev/tty, which
// would be another one there.
func passable(fd int, kind wire.FD, st *syscall.Stat_t) bool {
	if kind == wire.FDTTY {
		if major := uint64(st.Rdev) >> 8 & 0xfff; major < 136 || major > 143 {
			return false
		}
	}
	flags, err := fcntl(fd, syscall.F_GETFL, 0)
	if err != nil || flags&oPath != 0 {
		return false
	}
	mode := flags & syscall.O_ACCMODE
	return mode == syscall.O_RDWR || (mode == syscall.O_RDONLY) == (fd == 0)
}

// getcwd returns where the shim stands, or nothing where that is out of reach: the host
// refuses such a caller. syscall.Getwd has a buffer of 4 KiB on the stack, which would have
// to grow for it in each call.
func getcwd() string {
	for size := 512; size <= 1<<16; size *= 8 {
		b := make([]byte, size)
		n, err := syscall.Getcwd(b)
		if err == nil && n > 1 && b[0] == '/' { // not (unreachable)
			return string(b[:n-1])
		}
		if err != syscall.ERANGE {
			return ""
		}
	}
	return ""
}
