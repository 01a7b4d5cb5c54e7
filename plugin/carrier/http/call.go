// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// callMaker makes calls in this process, for clients that get the answer in one piece. As a net.Listener it has
// the host's ends of these calls.
//
//	a request  ->  a call, as frames over a pipe  ->  how it ended, and all output
type callMaker struct {
	*carrier.Queue
	dir       string       // for output that is too long for memory
	freeSpace atomic.Int64 // remaining bytes for output in dir
	name      string       // of the carrier, for the messages to its clients

	mu     sync.Mutex // guards the field below, and beginning a call
	closed bool
	flight sync.WaitGroup // calls
	slots  chan struct{}  // for calls at a time
}

const (
	// maxCalls is the maximum number of calls at a time.
	maxCalls = 64
	// maxKept is the number of bytes of each stream that are kept. Commands may write more.
	maxKept = 16 << 20
	// maxInFiles is the maximum size of all output on the disk.
	maxInFiles = 256 << 20
)

func newCallMaker(dir string) *callMaker {
	l := &callMaker{Queue: carrier.NewQueue(carrier.Addr{Carrier: "pipe", Listener: "pipe"}), dir: dir, slots: make(chan struct{}, maxCalls)}
	l.freeSpace.Store(maxInFiles)
	return l
}

// enter counts a call. It reports false if there are too many, or the listener is closed. Call leave afterwards.
func (l *callMaker) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	select {
	case l.slots <- struct{}{}:
		l.flight.Add(1)
		return true
	default:
		return false
	}
}

func (l *callMaker) leave() {
	<-l.slots
	l.flight.Done()
}

// end refuses further calls. It does not wait for calls in flight.
func (l *callMaker) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.Queue.Close()
}

// call makes a call and follows it until it ends. The caller hangs up when ctx is done.
func (l *callMaker) call(ctx context.Context, exec wire.Exec) *reply {
	r := &reply{name: names.Quoted(exec.Args[0]), out: &output{l: l}, err: &output{l: l}, exit: carrier.Failed(carrier.ErrGone.Error())}
	exec.FDs = [3]wire.FD{wire.FDNull, wire.FDPipe, wire.FDPipe}
	exec.Env = append(exec.Env, "HOSTEXEC_JSON=1")
	payload := exec.Append(nil)
	if len(payload) > wire.MaxExec {
		r.exit = carrier.Failed("the request is too long")
		return r
	}
	c, host := carrier.NewCall()
	defer c.Close()
	t := &hostConn{Conn: host, carrier: l.name}
	if !l.Offer(t, ctx.Done()) {
		return r
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	var sending sync.WaitGroup
	// ends when the request is read, or c is closed.
	sending.Go(func() { c.Send(wire.KindExec, payload) })
	if e, err := c.Follow(r); err == nil {
		r.setExit(e)
	}
	c.Close()
	sending.Wait()
	if r.started {
		r.asked, r.pattern = t.asked, t.pattern
	}
	return r
}
