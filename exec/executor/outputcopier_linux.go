// SPDX-License-Identifier: Apache-2.0

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

// ttyBacklog is greater than the number of unread bytes that a terminal buffers
// (TTYB_DEFAULT_MEM_LIMIT).
const ttyBacklog = 1 << 20

// outputCopier copies a command's output to dst: first while the command runs, then the rest that was
// written before its end. Later output of other processes is read and dropped until they close the
// other side, so that they do not block.
type outputCopier struct {
	host    *Host
	src     *os.File
	dst     io.Writer // nil drops everything
	tty     bool
	drained chan struct{} // closed when dst receives nothing more
}

func newOutputCopier(h *Host, src *os.File, dst io.Writer, tty bool) *outputCopier {
	return &outputCopier{host: h, src: src, dst: dst, tty: tty, drained: make(chan struct{})}
}

func (p *outputCopier) start() {
	p.host.mu.Lock()
	p.host.activeCopiers[p] = true
	p.host.mu.Unlock()
	// ends when no process holds the other side; Host.Close ensures this and waits.
	p.host.copiers.Go(p.run)
}

// finish makes p copy only the output that was written until now, because the command has ended.
func (p *outputCopier) finish() { p.src.SetReadDeadline(time.Unix(1, 0)) }

func (p *outputCopier) run() {
	conn, err := p.src.SyscallConn()
	if err == nil && p.copy(conn) {
		close(p.drained)
		p.src.SetReadDeadline(time.Time{})
		p.drop(conn)
	} else {
		close(p.drained)
	}
	p.host.mu.Lock()
	delete(p.host.activeCopiers, p)
	p.host.mu.Unlock()
	p.src.Close()
}

// copy copies output until the end of the command. It reports whether other processes may still
// write.
func (p *outputCopier) copy(conn syscall.RawConn) bool {
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

// drain copies the bytes that are available now. It gets their number first, because a process left
// behind may write forever.
func (p *outputCopier) drain(conn syscall.RawConn) bool {
	available := ttyBacklog
	if !p.tty {
		conn.Control(func(fd uintptr) { available, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	once := func(read func(fd uintptr) bool) error {
		return conn.Control(func(fd uintptr) { read(fd) })
	}
	for available > 0 {
		n, err := p.move(once, min(available, chunk), true)
		if err == unix.EAGAIN {
			return true
		}
		if err != nil || n == 0 {
			return false
		}
		available -= n
	}
	return true
}

func (p *outputCopier) drop(conn syscall.RawConn) {
	for {
		if n, err := p.move(conn.Read, chunk, false); err != nil || n == 0 {
			return
		}
	}
}

// move reads at most max bytes and writes them to dst. If dst of a terminal fails, move keeps
// reading, because a close would hang up the command's terminal. If dst of a pipe fails, move
// returns the error; the command then gets SIGPIPE, as from its reader.
func (p *outputCopier) move(wait func(read func(fd uintptr) bool) error, max int, write bool) (n int, err error) {
	var buf *[chunk]byte
	werr := wait(func(fd uintptr) bool {
		buf = chunks.Get().(*[chunk]byte) // taken from the pool only when data is available
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
