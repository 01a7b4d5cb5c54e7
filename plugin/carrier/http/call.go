// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// whole is a listener of calls that are made in this process, for callers who get the
// answer in one piece.
//
//	a request  ->  a call, as frames over a pipe  ->  what became of it, and all it wrote
type whole struct {
	dir   string       // for output that is too much to be held
	spare atomic.Int64 // bytes that it may take there
	name  string       // of the carrier, for callers that get no more than an answer
	calls chan net.Conn
	done  chan struct{} // closed by end

	mu     sync.Mutex // guards the field below, and beginning a call
	over   bool
	flight sync.WaitGroup // calls
	slots  chan struct{}  // for calls at a time
}

const (
	// maxWhole is how many such calls there are at a time.
	maxWhole = 64
	// maxKept is how many bytes of each stream are kept. The command may write more.
	maxKept = 16 << 20
	// maxInFiles is how many bytes of all of them are on disk at a time.
	maxInFiles = 256 << 20
)

func newWhole(dir string) *whole {
	l := &whole{dir: dir, calls: make(chan net.Conn), done: make(chan struct{}), slots: make(chan struct{}, maxWhole)}
	l.spare.Store(maxInFiles)
	return l
}

// Accept returns the caller's end of the next call, which speaks the wire's frames.
func (l *whole) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *whole) Addr() net.Addr { return wholeAddr{} }

type wholeAddr struct{}

func (wholeAddr) Network() string { return "pipe" }
func (wholeAddr) String() string  { return "pipe" }

// enter makes room for a call; it reports false when there is none. Who enters leaves.
func (l *whole) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
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

func (l *whole) leave() {
	<-l.slots
	l.flight.Done()
}

// end takes no more calls; it does not wait for those there are.
func (l *whole) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.done)
	}
}

// callerConn is the caller's end of a call, which hears why the call's command runs.
type callerConn struct {
	net.Conn
	carrier string
	asked   bool
	pattern string
}

// OneAnswer implements what exec/call asks.
func (c *callerConn) OneAnswer() string { return c.carrier }

// Decided implements what exec/call tells. What it writes is read behind a later frame.
func (c *callerConn) Decided(asked bool, pattern string) { c.asked, c.pattern = asked, pattern }

// reply is what became of a call. Close it.
type reply struct {
	name     string // of the command
	exit     wire.Exit
	why      ending // where the command did not end the call
	started  bool
	asked    bool
	pattern  string
	out, err *output
}

// ending is what exec/call says in JSON of a call that its command did not end.
type ending struct {
	Status, Reason string
}

func (r *reply) close() {
	r.out.close()
	r.err.close()
}

// make makes a call and follows it to its end. When ctx is done the caller hangs up.
func (l *whole) make(ctx context.Context, ask wire.Exec) *reply {
	r := &reply{name: names.Quoted(ask.Args[0]), out: &output{l: l}, err: &output{l: l}, exit: carrier.Failed("the host's side of this call has gone")}
	ask.FDs = [3]wire.FD{wire.FDNull, wire.FDPipe, wire.FDPipe}
	ask.Env = append(ask.Env, "HOSTEXEC_JSON=1")
	payload := ask.Append(nil)
	if len(payload) > wire.MaxExec {
		r.exit = carrier.Failed("the request is too long")
		return r
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	t := &callerConn{Conn: theirs, carrier: l.name}
	select {
	case l.calls <- t:
	case <-l.done:
		return r
	case <-ctx.Done():
		return r
	}
	defer context.AfterFunc(ctx, func() { ours.Close() })()
	var sending sync.WaitGroup
	// ends when the request is heard, or ours is closed: a host that does not want it says
	// so while it is sent.
	sending.Go(func() { ours.Write(wire.AppendFrame(nil, wire.KindExec, payload)) })
	r.follow(ours)
	ours.Close()
	sending.Wait()
	if r.started {
		r.asked, r.pattern = t.asked, t.pattern
	}
	return r
}

// follow takes what comes of the call, until it ends. Without an Exit it has not ended well.
func (r *reply) follow(conn net.Conn) {
	buf := make([]byte, 0, 4<<10)
	owed := 0
	for {
		kind, b, err := wire.ReadFrame(conn, buf)
		if err != nil {
			return
		}
		if cap(b) > cap(buf) {
			buf = b[:0] // who writes much will go on so
		}
		switch kind {
		case wire.KindStarted:
			r.started = true
			continue
		case wire.KindStdout:
			r.out.write(b)
		case wire.KindStderr:
			r.err.write(b)
		case wire.KindExit:
			if e, err := wire.ParseExit(b); err == nil {
				r.setExit(e)
			}
			return
		default:
			continue
		}
		if owed += len(b); owed >= wire.Window/4 {
			if _, err := conn.Write(wire.AppendFrame(nil, wire.KindCredit, wire.AppendCredit(nil, uint32(owed)))); err != nil {
				return
			}
			owed = 0
		}
	}
}

// setExit notes how the call ended. What a verb of hostexec's own says then is its stderr.
func (r *reply) setExit(e wire.Exit) {
	r.exit, r.why = e, parseEnding(e.Text)
	if e.Outcome == wire.Exited || e.Outcome == wire.Signaled {
		r.err.write([]byte(e.Text))
	}
}

// parseEnding reads the last line of an Exit's text, which is JSON. Else all of it is the
// reason.
func parseEnding(text string) (e ending) {
	text = strings.TrimSpace(text)
	if json.Unmarshal([]byte(text[strings.LastIndexByte(text, '\n')+1:]), &e) != nil {
		return ending{Reason: strings.TrimPrefix(text, "hostexec: ")}
	}
	return e
}
