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

// Reads of stdin begin with a small buffer, because a thousand calls may wait in a Read. The buffer
// grows with the data.
const (
	smallRead = 1 << 8
	largeRead = 32 << 10
)

// stdinCopier copies In to a command's stdin.
type stdinCopier struct {
	in       io.Reader
	closeIn  func()   // called once
	dst      *os.File // the pipe's write end, or the terminal's master
	tty      bool
	inClosed func()
	ended    chan struct{}

	// The fields below belong to run until ended is closed.
	written  uint64
	readEnd  *os.File // set after the end of In: a read end, to query the bytes left in the pipe
	consumed uint64
}

func newStdinCopier(s Streams, dst *os.File, tty bool) *stdinCopier {
	closeIn := sync.OnceFunc(func() { s.In.Close() })
	return &stdinCopier{in: s.In, closeIn: closeIn, dst: dst, tty: tty, inClosed: s.InClosed, ended: make(chan struct{})}
}

func (f *stdinCopier) run() {
	defer close(f.ended)
	buf := make([]byte, smallRead)
	for {
		n, err := f.in.Read(buf)
		if n > 0 {
			m, werr := f.dst.Write(buf[:n])
			f.written += uint64(m)
			if werr != nil {
				f.writeFailed(werr)
				return
			}
		}
		if err != nil {
			if err == io.EOF && !f.tty { // a terminal has no EOF, only a hang-up
				f.end()
			}
			return
		}
		if n == len(buf) && n < largeRead {
			buf = make([]byte, largeRead)
		}
	}
}

// writeFailed handles an error of a write to the command's stdin. If the command closed its stdin, the
// caller is notified.
func (f *stdinCopier) writeFailed(err error) {
	if !errors.Is(err, unix.EPIPE) {
		return
	}
	f.closeIn()
	if f.inClosed != nil {
		f.inClosed()
	}
}

// end closes the command's stdin. Afterwards only a read end can report the bytes left in the pipe.
// The extra read end does no harm, because no writer is left that expects SIGPIPE.
func (f *stdinCopier) end() {
	f.control(func(fd int) {
		if r, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
			f.readEnd = os.NewFile(uintptr(r), "pipe")
		}
	})
	f.dst.Close()
}

func (f *stdinCopier) control(do func(fd int)) {
	if conn, err := f.dst.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { do(int(fd)) })
	}
}

// stop ends the copying and computes the number of bytes of In that the command has read. These are the written bytes
// minus those left in the pipe. The kernel can count these even after the reader has closed its end.
func (f *stdinCopier) stop() {
	f.dst.SetWriteDeadline(time.Unix(1, 0))
	f.closeIn()
	<-f.ended
	f.consumed = f.written
	if f.tty {
		return
	}
	defer f.dst.Close()
	if f.readEnd != nil {
		defer f.readEnd.Close()
		f.dst = f.readEnd
	}
	f.control(func(fd int) {
		if n, err := unix.IoctlGetInt(fd, unix.TIOCINQ); err == nil {
			f.consumed -= min(f.consumed, uint64(n))
		}
	})
}
