// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// call is one call: between frames, which whoever accepts it speaks, and files.
type call struct {
	p       *requestDir
	ask     request
	conn    net.Conn // our end
	wakeups chan struct{}

	out, err   *output
	wakeup     *dir.Wakeup                 // has the caller look; nil if it has none
	ungranted  int                         // bytes of output that are written, but not granted again yet
	ended      bool                        // the caller has said so; tend's, then finish's
	cancels    atomic.Bool                 // the caller has said that it goes
	stale      atomic.Bool                 // the caller no longer touches .heartbeat
	over       atomic.Pointer[limit.Error] // why the call was given up, if a limit is why
	callerGone bool                        // the caller has gone without a word; tend's, then finish's

	limits  *limit.Session
	ending  func() bool // the host refuses requests
	reserve *reserve
	noSpace func() string // reports a full disk to the log, and returns the reason for the caller

	mu    sync.Mutex // guards the fields below, and writing to conn
	stdin *input
}

func newCall(p *requestDir, ask request) *call {
	return &call{p: p, ask: ask, wakeups: make(chan struct{}, 1)}
}

// lookNow has the call look at its files.
func (c *call) lookNow() {
	select {
	case c.wakeups <- struct{}{}:
	default:
	}
}

// serve answers the request, by a call unless it is refused.
func (c *call) serve(l *Listener) {
	c.limits, c.ending, c.reserve, c.noSpace = l.limits, l.over, &l.reserve, l.noSpace
	l.reserve.fill(c.p.Dir)
	c.wakeup = c.p.Dir.Wakeup(c.ask.id + ".bell")
	defer c.wakeup.Close()
	if err := c.open(); isFull(err) {
		c.ask.refuse(wire.CodeFailed, "%s", c.noSpace())
	} else if err != nil {
		c.ask.refuse(wire.CodeFailed, "the answer cannot be written")
	}
	c.wakeup.Notify()
	defer c.out.close()
	defer c.err.close()
	exec := c.ask.exec.Append(nil)
	size := len(exec)
	l.hold(size)
	var heard sync.Once
	hear := func() { heard.Do(func() { l.hold(-size) }) }
	defer hear()
	if len(exec) > wire.MaxExec { // many empty arguments become longer
		c.ask.refuse(wire.CodeFailed, "the request has more than %d bytes", wire.MaxExec)
	}
	c.ask.exec.Args, c.ask.exec.Env = nil, nil // nothing is held for as long as the call takes
	if c.ask.refusal != "" {
		c.finish(refused(c.ask))
		return
	}
	theirs, done := c.connect()
	defer done()
	select {
	case l.calls <- theirs:
	case <-l.done:
		theirs.Close()
		c.finish(carrier.Failed("the proxy is shutting down"))
		return
	}
	over := make(chan struct{})
	var tending sync.WaitGroup
	// ends when over is closed.
	tending.Go(func() {
		// Not before follow reads: a host that does not want it says so while it is sent.
		_ = c.send(wire.KindExec, exec) // else follow finds the host gone
		hear()
		exec = nil
		c.watchCaller(over)
	})
	end := c.follow()
	close(over)
	tending.Wait()
	c.finish(end)
}

func (c *call) connect() (theirs net.Conn, done func()) {
	c.conn, theirs = net.Pipe()
	return theirs, func() {
		c.conn.Close()
		if c.stdin != nil {
			c.stdin.close()
		}
	}
}

// follow writes down what comes of the call, until it ends. Without an Exit it has not
// ended well.
func (c *call) follow() wire.Exit {
	gone := carrier.Failed("the host's side of this call has gone: docker hostexec logs on the host may tell more")
	buf := make([]byte, 0, 16<<10)
	for {
		kind, b, err := wire.ReadFrame(c.conn, buf)
		if over := c.over.Load(); err != nil && over != nil {
			return carrier.Failed("stdin: " + over.Error())
		}
		if err != nil && c.cancels.Load() {
			return carrier.Failed("the caller has cancelled the call")
		}
		if err != nil && c.stale.Load() {
			return carrier.Failed(fmt.Sprintf("the caller has not touched %s for %s: the command was ended", heartbeat, stale))
		}
		if err != nil && c.ending() {
			return carrier.Failed("the proxy is shutting down: the command was ended")
		}
		if err != nil {
			return gone
		}
		if cap(b) > cap(buf) {
			buf = b[:0] // who writes much will go on so
		}
		switch kind {
		case wire.KindExit:
			e, err := wire.ParseExit(b)
			if err != nil {
				return gone
			}
			return e
		case wire.KindStdout:
			err = c.write(c.out, b)
		case wire.KindStderr:
			err = c.write(c.err, b)
		case wire.KindNotice:
			err = c.err.add(b)
			c.wakeup.Notify()
		case wire.KindStarted:
			s, perr := wire.ParseStarted(b)
			if err = perr; err == nil && s.FDs[0] == wire.Pumped {
				err = c.openInput()
			}
		case wire.KindCapture:
			err = c.openInput()
		case wire.KindCredit:
			n, perr := wire.ParseCredit(b)
			err = perr
			c.credit(int(n))
		case wire.KindStdinClosed:
			c.credit(-1)
		}
		if isFull(err) {
			return carrier.Failed(c.noSpace())
		}
		if err != nil {
			return carrier.Failed("the answer cannot be written: " + reasonOf(err))
		}
	}
}

// write appends output, and lets the host send as much again.
func (c *call) write(o *output, b []byte) error {
	if err := o.add(b); err != nil {
		return err
	}
	c.wakeup.Notify()
	if c.ungranted += len(b); c.ungranted < wire.Window/4 {
		return nil
	}
	n := c.ungranted
	c.ungranted = 0
	return c.send(wire.KindCredit, wire.AppendCredit(nil, uint32(n)))
}

// send writes one frame.
func (c *call) send(kind wire.Kind, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.conn.Write(wire.AppendFrame(nil, kind, payload))
	return err
}

func refused(a request) wire.Exit {
	e := carrier.Failed(a.refusal)
	e.Code = a.code
	return e
}

// reasonOf is an error in printable words, without a name that others have chosen.
func reasonOf(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var over *limit.Error
	if errors.As(err, &over) || errors.Is(err, errFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err.Error()
	}
	return "input/output error"
}
