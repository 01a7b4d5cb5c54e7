// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package control

import (
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerOf returns the process that connected, and its user (SO_PEERCRED, unix(7)).
func peerOf(c *net.UnixConn) (p peer, ok bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return p, false
	}
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			p, ok = peer{uid: int(cred.Uid), pid: int(cred.Pid)}, true
		}
	})
	return p, ok && err == nil
}

// atHome reports whether p is in the namespaces that we are in, which no container's process
// is in all of: --pid host leaves it its mounts. A kernel without one has no such container.
func atHome(c *net.UnixConn, p peer) bool {
	for _, kind := range []string{"pid", "mnt", "user"} {
		ours, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			continue
		}
		if theirs, err := os.Readlink("/proc/" + strconv.Itoa(p.pid) + "/ns/" + kind); err != nil || theirs != ours {
			return false
		}
	}
	return lives(c)
}

// lives reports whether the process that connected is still there, so that what was just
// looked at was not another one of its number (SO_PEERPIDFD, Linux 6.5; true before that).
func lives(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	err = raw.Control(func(fd uintptr) {
		pidfd, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		if err != nil {
			alive = err == unix.ENOPROTOOPT
			return
		}
		defer unix.Close(pidfd)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
		alive = n == 0 && err == nil
	})
	return alive && err == nil
}
