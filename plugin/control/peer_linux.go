// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerOf returns the pid and uid of the connected process (SO_PEERCRED, unix(7)).
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

// inOurNamespaces reports whether p is in our pid, mount and user namespaces. A container's process differs in at
// least one: with --pid host the mount namespace differs. A namespace kind that the kernel does not
// support is skipped.
func inOurNamespaces(c *net.UnixConn, p peer) bool {
	for _, kind := range []string{"pid", "mnt", "user"} {
		ours, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			continue
		}
		if theirs, err := os.Readlink("/proc/" + strconv.Itoa(p.pid) + "/ns/" + kind); err != nil || theirs != ours {
			return false
		}
	}
	return peerAlive(c)
}

// peerAlive reports whether the connected process still exists. If it does, its pid was not reused while
// inOurNamespaces read its namespaces. It uses SO_PEERPIDFD (Linux 6.5); on older kernels it returns true.
func peerAlive(c *net.UnixConn) bool {
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
		n, err := -1, error(unix.EINTR)
		for err == unix.EINTR { // a pending signal interrupts even a poll that does not wait
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
		}
		alive = n == 0 && err == nil
	})
	return alive && err == nil
}
