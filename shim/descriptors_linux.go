// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

const (
	pipefsMagic = 0x50495045 // PIPEFS_MAGIC of linux/magic.h
	devNull     = 1<<8 | 3   // character device 1:3
	oPath       = 0x200000   // O_PATH, the same on all our architectures
)

// inspectDescriptors determines the kinds of 0, 1 and 2 and writes them into req. It returns the descriptors to pass,
// in order. The runtime has opened /dev/null for closed descriptors.
func inspectDescriptors(req *wire.Exec) (passed []int) {
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
			// Lets the host's command, which may be of another user, open /dev/stdout.
			syscall.Fchmod(fd, 0o666)
		}
		req.Passed |= 1 << fd
		passed = append(passed, fd)
	}
	req.SameOut = req.FDs[1] != wire.FDNull && req.FDs[1] == req.FDs[2] && sameFile(&st[1], &st[2])
	return passed
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

// passable reports whether the host would accept fd. It must be open in the right direction. A terminal
// must be one side of a Unix98 pair (majors 136 to 143). /dev/tty is not accepted, because it is a
// different terminal in each session.
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

// sameFile reports whether 1 and 2 are one open file, as after 2>&1. Then both must be written through one
// descriptor to keep their order. Files that are not regular have only one position, however often they
// are opened.
func sameFile(out, err *syscall.Stat_t) bool {
	if out.Dev != err.Dev || out.Ino != err.Ino {
		return false
	}
	if out.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return true
	}
	flags, e1 := fcntl(1, syscall.F_GETFL, 0)
	other, e2 := fcntl(2, syscall.F_GETFL, 0)
	if e1 != nil || e2 != nil || flags != other {
		return false
	}
	if flags&syscall.O_APPEND != 0 {
		return true
	}
	// The redirection >f 2>f opens the file twice, with separate positions. O_NONBLOCK has no effect on
	// regular files, and is a flag of the open file. If setting it on 1 sets it on 2, they are one open
	// file. (kcmp(2) would show it, but seccomp may deny it.)
	fcntl(1, syscall.F_SETFL, flags^syscall.O_NONBLOCK)
	other, e2 = fcntl(2, syscall.F_GETFL, 0)
	fcntl(1, syscall.F_SETFL, flags)
	return e2 == nil && other != flags
}
