// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package executor

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const chunk = 32 << 10

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// ttyBacklog is more than a terminal holds that nobody reads (TTYB_DEFAULT_MEM_LIMIT).
const ttyBacklog = 1 << 20

// pump moves what a command writes to dst: all of it while the command lives, then what
// it has written by its end. What others write later is read and dropped, so that they
// are not held up, until they are gone.
type pump struct {
	host    *Host
	src     *os.File
	dst     io.Writer // nil drops everything
	tty     bool
	drained chan struct{} // closed when dst gets nothing more
}

func newPump(h *Host, src *os.File, dst io.Writer, tty bool) *pump {
	return &pump{host: h, src: src, dst: dst, tty: tty, drained: make(chan struct{})}
}

func (p *pump) start() {
	p.host.mu.Lock()
	p.host.left[p] = true
	p.host.mu.Unlock()
	// ends when nobody holds the other side; Host.Close sees to that and waits.
	p.host.pumps.Go(p.run)
}

// finish says that the command has ended.
func (p *pump) finish() { p.src.SetReadDeadline(time.Unix(1, 0)) }

func (p *pump) run() {
	conn, err := p.src.SyscallConn()
	if err == nil && p.copy(conn) {
		close(p.drained)
		p.src.SetReadDeadline(time.Time{})
		p.drop(conn)
	} else {
		close(p.drained)
	}
	p.host.mu.Lock()
	delete(p.host.left, p)
	p.host.mu.Unlock()
	p.src.Close()
}

// copy reports whether somebody may still write when it is done.
func (p *pump) copy(conn syscall.RawConn) bool {
	for {
		n, err := p.move(conn.Read, chunk, true)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return p.drain(conn)
		case err != nil || n == 0:
			return false
		}
	}
}

// drain moves what is there now. It is counted first: somebody who was left behind may
// write for ever.
func (p *pump) drain(conn syscall.RawConn) bool {
	there := ttyBacklog
	if !p.tty {
		conn.Control(func(fd uintptr) { there, _ = unix.IoctlGetInt(int(fd), inQueue) })
	}
	once := func(read func(fd uintptr) bool) error {
		return conn.Control(func(fd uintptr) { read(fd) })
	}
	for there > 0 {
		n, err := p.move(once, min(there, chunk), true)
		if err == unix.EAGAIN {
			return true
		}
		if err != nil || n == 0 {
			return false
		}
		there -= n
	}
	return true
}

func (p *pump) drop(conn syscall.RawConn) {
	for {
		if n, err := p.move(conn.Read, chunk, false); err != nil || n == 0 {
			return
		}
	}
}

// move reads at most max bytes, when there are some, and writes them to dst. A terminal
// whose reader takes no more is read on: closing it would hang up on the command. A pipe
// is not, so that the command gets PIPE, as it would have from its reader.
func (p *pump) move(wait func(read func(fd uintptr) bool) error, max int, write bool) (n int, err error) {
	var buf *[chunk]byte
	werr := wait(func(fd uintptr) bool {
		buf = chunks.Get().(*[chunk]byte) // borrowed only when the poller says so
		if n, err = readOnce(int(fd), buf[:max]); err == unix.EAGAIN {
			chunks.Put(buf)
			buf = nil
			return false
		}
		return true
	})
	if werr != nil {
		return 0, werr
	}
	if buf == nil {
		return 0, err
	}
	defer chunks.Put(buf)
	if err == nil && n > 0 && write && p.dst != nil {
		if _, err = p.dst.Write(buf[:n]); err != nil && p.tty {
			p.dst, err = nil, nil
		}
	}
	return n, err
}

func readOnce(fd int, b []byte) (int, error) {
	for {
		if n, err := unix.Read(fd, b); err != unix.EINTR {
			return max(n, 0), err
		}
	}
}
