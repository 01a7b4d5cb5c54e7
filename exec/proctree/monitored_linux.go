// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var errHelper = errors.New("the helper process of the command ended before it started the command")

// helperLink is the watcher's end of the socket pair to a helper.
type helperLink struct {
	conn       *os.File
	status     atomic.Int64  // the command's wait status; -1 while unknown
	readerDone chan struct{} // closed when the reader has ended
}

// startMonitored starts a command on a terminal, under a monitor that is this program
// again.
func startMonitored(ctx context.Context, sp *spawner, d *exitWaiter, s StartConfig) (*Child, error) {
	attr := s.attr()
	attr.Sys.Setctty = true
	attr.Sys.Ctty = 0
	c := newChild(s)
	if err := c.startUnderHelper(ctx, sp, d, asMonitor, s, attr); err != nil {
		return nil, err
	}
	return c, nil
}

// startUnderHelper starts this program again, as the helper that starts the command.
func (c *Child) startUnderHelper(ctx context.Context, sp *spawner, d *exitWaiter, as string, s StartConfig, attr *syscall.ProcAttr) error {
	c.done = make(chan struct{})
	link, err := c.startHelper(sp, d, as, s, attr)
	if err != nil {
		return err
	}
	if c.Pid, err = link.started(ctx); err != nil {
		c.giveUp(link)
		return err
	}
	// ends when the helper's end of the pair is closed, at its death; Reap waits for it.
	go c.listen()
	return nil
}

func newLink() (link *helperLink, theirs int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, os.NewSyscallError("socketpair", err)
	}
	unix.SetNonblock(pair[0], true) // so that os.NewFile polls it
	link = &helperLink{conn: os.NewFile(uintptr(pair[0]), "helper"), readerDone: make(chan struct{})}
	link.status.Store(-1)
	return link, pair[1], nil
}

func (l *helperLink) read() (kind byte, n uint32, err error) {
	var msg [msgLen]byte
	if m, err := l.conn.Read(msg[:]); err != nil || m != msgLen {
		return 0, 0, errors.Join(errHelper, err)
	}
	return msg[0], binary.NativeEndian.Uint32(msg[1:]), nil
}

// started waits until the helper has started its command, or until ctx ends.
func (l *helperLink) started(ctx context.Context) (pid int, err error) {
	left := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(left)
		l.conn.SetReadDeadline(time.Unix(1, 0))
	})
	kind, n, err := l.read()
	if !stop() {
		if err != nil {
			return 0, context.Cause(ctx)
		}
		<-left
		l.conn.SetReadDeadline(time.Time{}) // or nothing would report the end of the command
	}
	switch {
	case err != nil:
		return 0, err
	case kind == msgFailed:
		return 0, syscall.Errno(n)
	}
	return int(n), nil
}

// listen receives messages about the command until the helper has exited.
func (c *Child) listen() {
	defer close(c.helper.readerDone)
	ended := false
	for {
		kind, n, err := c.helper.read()
		if (err != nil || kind == msgEnded) && !ended {
			ended = true
			if err == nil {
				c.helper.status.Store(int64(n))
			}
			close(c.done)
		}
		if err != nil {
			return
		}
		if kind == msgStopped {
			c.noteStop()
		}
	}
}

// release lets the helper reap the command and exit, as soon as the command has ended. No signal is sent to
// the command's group afterwards.
func (l *helperLink) release() {
	conn, err := l.conn.SyscallConn()
	if err != nil {
		return
	}
	conn.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) })
}

// reapHelper lets the helper exit and reaps it, unless it is a supervisor with processes: see abandonSupervisor. If the
// helper was killed, its command is killed too, because nothing could control it any more.
func (c *Child) reapHelper() syscall.WaitStatus {
	status := c.helper.status.Load()
	if status < 0 {
		c.End(0)
	}
	c.mu.Lock()
	c.reaped = true
	c.mu.Unlock()
	if status >= 0 && supervisorOf(c.Pid) == c.leader {
		c.abandonSupervisor()
		return syscall.WaitStatus(status)
	}
	c.helper.release()
	own := c.reapLeader()
	<-c.helper.readerDone
	c.helper.conn.Close()
	if status < 0 {
		return own
	}
	return syscall.WaitStatus(status)
}
