// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// wakeup checks the held file before it opens it, as openAs does. Opening fails if the pipe has no reader (fifo(7)).
func (d *UntrustedDir) wakeup(name string) *Wakeup {
	held, err := unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(held)
	var st unix.Stat_t
	if unix.Fstat(held, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO || st.Nlink != 1 {
		return nil // with another name, it may belong to a program for which the data has a meaning
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(held), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &Wakeup{fd}
}

func notify(fd int) { _, _ = unix.Write(fd, []byte{0}) } // a full pipe wakes its reader, too

func noReader(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd)}}
	_, err := unix.Poll(p, 0)
	return err == nil && p[0].Revents&unix.POLLERR != 0
}
