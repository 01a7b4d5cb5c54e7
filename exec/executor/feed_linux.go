// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Reads of stdin begin small, for a thousand calls may wait in one, and grow with what
// comes.
const (
	smallRead = 1 << 10
	largeRead = 32 << 10
)

// feed moves In into a command's stdin.
type feed struct {
	in       io.Reader
	closeIn  func()   // once
	dst      *os.File // the pipe's write end, or the terminal's master
	tty      bool
	inClosed func()
	ended    chan struct{}

	// The rest is run's until ended is closed.
	written  uint64
	rest     *os.File // after the end of In: a read end, to ask what is still in the pipe
	consumed uint64
}

func newFeed(s Streams, dst *os.File, tty bool) *feed {
	closeIn := sync.OnceFunc(func() { s.In.Close() })
	return &feed{in: s.In, closeIn: closeIn, dst: dst, tty: tty, inClosed: s.InClosed, ended: make(chan struct{})}
}

func (f *feed) run() {
	defer close(f.ended)
	buf := make([]byte, smallRead)
	for {
		n, err := f.in.Read(buf)
		if n > 0 {
			m, werr := f.dst.Write(buf[:n])
			f.written += uint64(m)
			if werr != nil {
				f.refused(werr)
				return
			}
		}
		if err != nil {
			if err == io.EOF && !f.tty { // a terminal has no end but a hang-up
				f.end()
			}
			return
		}
		if n == len(buf) && n < largeRead {
			buf = make([]byte, largeRead)
		}
	}
}

// refused is called when the command's stdin takes no more. The caller is told if it
// was the command who closed it.
func (f *feed) refused(err error) {
	if !errors.Is(err, unix.EPIPE) {
		return
	}
	f.closeIn()
	if f.inClosed != nil {
		f.inClosed()
	}
}

// end gives the command the end of its stdin. What is in the pipe can then be asked of
// a read end only, which nobody misses now: there is no writer left to tell.
func (f *feed) end() {
	f.control(func(fd int) {
		if r, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
			f.rest = os.NewFile(uintptr(r), "pipe")
		}
	})
	f.dst.Close()
}

func (f *feed) control(do func(fd int)) {
	if conn, err := f.dst.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { do(int(fd)) })
	}
}

// stop ends the feed, and counts what of In the command has taken: what was written but
// for what is still in the pipe, where it stays when the reader is gone.
func (f *feed) stop() {
	f.dst.SetWriteDeadline(time.Unix(1, 0))
	f.closeIn()
	<-f.ended
	f.consumed = f.written
	if f.tty {
		return
	}
	defer f.dst.Close()
	if f.rest != nil {
		defer f.rest.Close()
		f.dst = f.rest
	}
	f.control(func(fd int) {
		if n, err := unix.IoctlGetInt(fd, unix.TIOCINQ); err == nil {
			f.consumed -= min(f.consumed, uint64(n))
		}
	})
}
