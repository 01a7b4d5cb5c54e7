// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitWaiter notifies children of their death. One goroutine waits for all of them: there may be a thousand,
// and a stack for each would cost a tenth of a call. A pidfd becomes readable when its process is dead
// (pidfd_open(2)).
type exitWaiter struct {
	epoll  *os.File
	conn   syscall.RawConn
	waiter sync.WaitGroup

	mu   sync.Mutex // guards the field below
	byFD map[int32]*Child
}

func newExitWaiter() (*exitWaiter, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	unix.SetNonblock(fd, true) // so that os.NewFile polls it
	d := &exitWaiter{epoll: os.NewFile(uintptr(fd), "epoll"), byFD: map[int32]*Child{}}
	if d.conn, err = d.epoll.SyscallConn(); err != nil {
		d.epoll.Close()
		return nil, err
	}
	// ends when epoll is closed; close does that and waits.
	d.waiter.Go(func() { d.conn.Read(d.collect) })
	return d, nil
}

// expect registers c, which is notified of its death before its pidfd may be closed.
func (d *exitWaiter) expect(c *Child) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	cerr := d.conn.Control(func(epoll uintptr) {
		err = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, c.pidfd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(c.pidfd)})
	})
	if cerr != nil {
		return cerr
	}
	if err == nil {
		d.byFD[int32(c.pidfd)] = c
	}
	return err
}

// collect notifies the children that died, and asks the poller to call it again.
func (d *exitWaiter) collect(epoll uintptr) bool {
	var dead [64]unix.EpollEvent
	for {
		n, err := unix.EpollWait(int(epoll), dead[:], 0)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return false
		}
		d.mu.Lock()
		for _, e := range dead[:n] {
			if c := d.byFD[e.Fd]; c != nil {
				delete(d.byFD, e.Fd)
				close(c.dead)
			}
		}
		d.mu.Unlock()
	}
}

// close ends the waiting. Every child was reaped.
func (d *exitWaiter) close() {
	d.epoll.Close()
	d.waiter.Wait()
}
