// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// FDKind is the kind of a descriptor that a container sent.
type FDKind byte

// The kinds. OtherFD may need a file system server, for example of FUSE, which can block its inspection and close. The
// inspection of the other kinds cannot block.
const (
	OtherFD FDKind = iota
	PipeFD
	SocketFD
	TerminalFD
)

// FDKindOf returns the kind of fd. It calls no driver and no file system, because a container can serve a file system
// and never answer.
func FDKindOf(fd int) FDKind {
	var buf [64]byte
	n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), buf[:])
	link := string(buf[:max(n, 0)])
	switch {
	case err != nil:
		return OtherFD
	case strings.HasPrefix(link, "pipe:["):
		return PipeFD
	case strings.HasPrefix(link, "socket:["):
		return SocketFD
	case strings.HasPrefix(link, "/") && isTerminal(fd):
		return TerminalFD
	}
	return OtherFD
}

// isTerminal reports whether fd is the terminal side of a Unix98 pseudo-terminal, and neither its master nor a console
// of the host. Such a terminal has the majors 136 to 143 (Documentation/admin-guide/devices.txt).
func isTerminal(fd int) bool {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev_major >= 136 && st.Rdev_major <= 143
}

var errOther = errors.New("a descriptor is neither a pipe nor a socket nor a terminal")

// maxBlockedCloses is the maximum number of closes that wait at a time.
const maxBlockedCloses = 64

// blockedCloses is the number of closes that wait for a file system server.
var blockedCloses atomic.Int32

// MayReceive reports whether descriptors are accepted now: false if too many closes wait.
func MayReceive() bool { return blockedCloses.Load() < maxBlockedCloses }

// Receive calls receive, which returns descriptors that a container sent. It closes those of kind OtherFD, and returns
// an error if there are any. The caller closes the rest, even then.
//
// The close of a file waits until its file system answers, and no signal ends the wait
// (FUSE_FLUSH, fuse(4)). A child that is forked meanwhile would close its own copy at execve(2), with the fork lock
// held. So no child is forked until the descriptor has left the table.
func Receive(receive func() ([]int, error)) (fds []int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	all, err := receive()
	for _, fd := range all {
		if FDKindOf(fd) == OtherFD {
			discard(fd)
			err = cmp.Or(err, errOther)
			continue
		}
		fds = append(fds, fd)
	}
	return fds, err
}

// discard removes fd from the table and returns, although the close may go on.
func discard(fd int) {
	var ends [2]int // of a pipe that replaces the descriptor
	if unix.Pipe2(ends[:], unix.O_CLOEXEC) != nil {
		unix.Close(fd) // nothing can be forked either: each child needs a pipe
		return
	}
	blockedCloses.Add(1)
	// Ends when the server of the file answers, at the latest when the container has ended. Nothing waits for it,
	// because the server may not answer before; maxBlockedCloses limits the number of these goroutines.
	go func() {
		defer blockedCloses.Add(-1)
		unix.Dup3(ends[0], fd, unix.O_CLOEXEC) // it replaces fd at once, and then closes the file
	}()
	for FDKindOf(fd) == OtherFD {
		runtime.Gosched()
	}
	for _, fd := range append(ends[:], fd) {
		unix.Close(fd)
	}
}
