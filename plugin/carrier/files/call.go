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

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// call is one call: it translates between frames and files, as a carrier.Receiver. It has many fields because the
// caller, the host and a limit can each end the call, and each has its own state.
type call struct {
	dir    *servedDir
	req    request
	frames *carrier.Call
	checks chan struct{}

	out, err   *output
	fallback   []byte                      // the beginning of an object, which completeObject completes
	wakeup     *dir.Wakeup                 // wakes the caller; nil: the caller has no named pipe
	cancelSeen bool                        // the caller has cancelled the call; used by watchCaller, then by finish
	cancelled  atomic.Bool                 // the caller has cancelled the call; used by follow
	stale      atomic.Bool                 // the caller no longer touches .heartbeat
	exceeded   atomic.Pointer[limit.Error] // the limit for which the call was ended
	callerGone bool                        // the caller has died; used by watchCaller, then by finish

	limits   *limit.Session
	refusing func() bool // reports whether the host refuses requests
	reserve  *reserve
	noSpace  func() string // reports a full disk to the log, and returns the reason for the caller

	mu    sync.Mutex // guards the field below
	stdin *input
}

func newCall(p *servedDir, req request) *call {
	return &call{dir: p, req: req, checks: make(chan struct{}, 1)}
}

// checkNow makes watchCaller check the files now.
func (c *call) checkNow() {
	select {
	case c.checks <- struct{}{}:
	default:
	}
}

// serve answers the request, by a call unless it is refused.
func (c *call) serve(l *Listener) {
	c.limits, c.refusing, c.reserve, c.noSpace = l.limits, l.refusing, &l.reserve, l.noSpace
	l.reserve.fill(c.dir.Dir)
	c.wakeup = c.dir.Dir.Wakeup(c.req.id + ".bell")
	defer c.wakeup.Close()
	if err := c.open(); limit.DiskFull(err) {
		c.req.refuse(wire.CodeFailed, "%s", c.noSpace())
	} else if err != nil {
		c.req.refuse(wire.CodeFailed, "the answer cannot be written")
	}
	c.wakeup.Notify()
	defer c.out.close()
	defer c.err.close()
	exec := c.req.exec.Append(nil)
	size := len(exec)
	l.load.addQueued(size)
	noteSent := sync.OnceFunc(func() { l.load.addQueued(-size) })
	defer noteSent()
	if len(exec) > wire.MaxExec { // its encoding is longer than the file if it has many empty arguments
		c.req.refuse(wire.CodeFailed, "the request has more than %d bytes", wire.MaxExec)
	}
	c.req.exec.Args, c.req.exec.Env = nil, nil // a call may take long: free the memory
	if c.req.refusal != "" {
		refused := carrier.Failed(c.req.refusal)
		refused.Code = c.req.code
		c.finish(refused)
		return
	}
	host, done := c.connect()
	defer done()
	if !l.Offer(host, nil) {
		host.Close()
		c.finish(carrier.Failed("the proxy is shutting down"))
		return
	}
	c.finish(c.run(exec, noteSent))
}

// run sends the request to the host, and returns the end of the call. It calls sent when the request is sent.
func (c *call) run(exec []byte, sent func()) wire.Exit {
	ended := make(chan struct{})
	var watching sync.WaitGroup
	// ends when ended is closed.
	watching.Go(func() {
		_ = c.frames.Send(wire.KindExec, exec) // follow returns the error
		sent()
		exec = nil
		c.watchCaller(ended)
	})
	end := c.follow()
	close(ended)
	watching.Wait()
	return end
}

func (c *call) connect() (host net.Conn, done func()) {
	c.frames, host = carrier.NewCall()
	return host, func() {
		c.frames.Close()
		if c.stdin != nil {
			c.stdin.close()
		}
	}
}

// follow writes the answer of the call to its files, until the call ends.
func (c *call) follow() wire.Exit {
	e, err := c.frames.Follow(c)
	if err != nil {
		e = c.endReason(err)
		c.completeObject(e)
	}
	return e
}

// endReason returns the end of a call that err has ended.
func (c *call) endReason(err error) wire.Exit {
	exceeded := c.exceeded.Load()
	switch {
	case limit.DiskFull(err):
		return carrier.Failed(c.noSpace())
	case err != carrier.ErrGone:
		return carrier.Failed("the answer cannot be written: " + reasonOf(err))
	case exceeded != nil:
		return carrier.Failed("stdin: " + exceeded.Error())
	case c.cancelled.Load():
		return carrier.Failed("the caller has cancelled the call")
	case c.stale.Load():
		return carrier.Failed(fmt.Sprintf("the caller has not touched %s for %s: the command was ended", heartbeat, heartbeatTimeout))
	case c.refusing():
		return carrier.Failed("the proxy is shutting down: the command was ended")
	}
	return carrier.Failed(err.Error() + ": docker hostexec logs on the host may show more")
}

func (c *call) Output(stream wire.Kind, b []byte) error {
	o := c.out
	if stream == wire.KindStderr {
		o = c.err
	}
	err := o.add(b)
	if err == nil {
		c.wakeup.Notify()
	}
	return err
}

func (c *call) Event(kind wire.Kind, b []byte) error {
	switch kind {
	case wire.KindNotice:
		if len(b) == 0 { // the call is being ended
			c.writeBeat()
		}
		err := c.err.add(b)
		c.wakeup.Notify()
		return err
	case wire.KindStarted:
		s, err := wire.ParseStarted(b)
		if err == nil && s.FDs[0] == wire.Copied {
			err = c.openInput()
		}
		return err
	case wire.KindFallback:
		c.fallback = append([]byte(nil), b...)
		if c.req.statusInExit { // other callers do not know the file
			c.writeFile("fallback", b)
		}
	case wire.KindCapture:
		return c.openInput()
	case wire.KindCredit:
		n, err := wire.ParseCredit(b)
		c.credit(int(n))
		return err
	case wire.KindStdinClosed:
		c.credit(-1)
	}
	return nil
}

// reasonOf describes an error without file names, which the container may have chosen.
func reasonOf(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var over *limit.Error
	if errors.As(err, &over) || errors.Is(err, errFull) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err.Error()
	}
	return "input/output error"
}
