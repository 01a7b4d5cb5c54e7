// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// stdin copies 0 to the host. It reads only as much as the host has requested. Bytes that the command
// leaves unread stay for the next reader, as far as the kernel allows.
type stdin struct {
	c      *call
	credit atomic.Int64 // credit: bytes that may still be sent
	closed atomic.Bool  // the command has closed its stdin
	file   int          // destination for a call by files; else -1
	wakeup int          // an eventfd: a field above or the terminal has changed
	start  int64        // offset of a regular file before the first read; else -1
	mu     sync.Mutex   // held during a read, so that no read follows rewind
}

func newStdin(c *call) (*stdin, error) {
	wake, err := eventfd()
	if err != nil {
		return nil, err
	}
	s := &stdin{c: c, wakeup: wake, file: -1, start: -1}
	s.credit.Store(wire.Window)
	if c.kinds[0] == wire.FDFile {
		if s.start, err = syscall.Seek(0, 0, 1); err != nil {
			s.start = -1
		}
	}
	return s, nil
}

// addCredit adds credit.
func (s *stdin) addCredit(n uint32) {
	s.credit.Add(int64(n))
	s.notify()
}

// close stops the copying. Unread bytes stay unread.
func (s *stdin) close() {
	s.closed.Store(true)
	s.notify()
}

// notify wakes copy.
//
//go:noinline
func (s *stdin) notify() {
	one := [8]byte{7: 1} // any nonzero number, in either byte order
	syscall.Write(s.wakeup, one[:])
}

// rewind sets the offset of a regular file behind the bytes that the command has read. This matters to the
// next reader, as in: while read l; do make $l; done < list.
func (s *stdin) rewind(consumed uint64) {
	if s.start < 0 || consumed >= wire.Withheld {
		return
	}
	s.closed.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	syscall.Seek(0, s.start+int64(consumed), 0)
}

// foregroundPoll is the interval at which a background job checks for the foreground: fg sends no signal to a
// running job.
const foregroundPoll = 200 * time.Millisecond

// copy reads until the end of stdin, or until the command wants no more.
func (s *stdin) copy() {
	buf := make([]byte, wire.HeaderLen+wire.MaxFrame)
	for !s.closed.Load() {
		n, patience := min(s.credit.Load(), wire.MaxFrame), time.Duration(-1)
		if s.c.tty != nil && !s.c.toFront() {
			n, patience = 0, foregroundPoll // other processes use the terminal now
		}
		if !s.ready(n > 0, patience) {
			continue
		}
		m, err := s.read(buf[wire.HeaderLen : wire.HeaderLen+int(n)])
		if err == syscall.EINTR || err == syscall.EAGAIN || err == syscall.EIO && s.inBackground() {
			continue
		}
		if m <= 0 {
			s.end()
			return
		}
		if s.pass(buf, m) != nil {
			return
		}
	}
}

// pass forwards m bytes of buf, which follow the space for a header.
func (s *stdin) pass(buf []byte, m int) error {
	if s.file >= 0 {
		return writeAll(s.file, buf[wire.HeaderLen:wire.HeaderLen+m])
	}
	s.credit.Add(-int64(m))
	wire.AppendHeader(buf[:0], wire.KindStdin, m)
	return s.c.host.write(buf[:wire.HeaderLen+m])
}

func (s *stdin) end() {
	if s.file >= 0 {
		s.c.files.Load().eof()
		return
	}
	s.c.host.send(wire.KindStdinEOF, nil)
}

// read reads from 0, unless close or rewind was called after ready returned.
func (s *stdin) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return 0, syscall.EAGAIN
	}
	return syscall.Read(0, b)
}

func (s *stdin) inBackground() bool { return s.c.tty != nil && !foreground() }

// ready waits until 0 is readable, if may is set, until notify, or until patience ends. It reports whether
// 0 is readable.
func (s *stdin) ready(may bool, patience time.Duration) bool {
	fds := [2]pollFD{{fd: int32(s.wakeup), events: pollIn}, {fd: 0, events: pollIn}}
	if !may {
		fds[1].fd = -1
	}
	poll(fds[:], patience)
	if fds[0].revents != 0 {
		var b [8]byte
		syscall.Read(s.wakeup, b[:])
	}
	return fds[1].revents != 0
}
