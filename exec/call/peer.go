// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// peer is the shim at the other end of a connection. One goroutine reads its frames, and blocks on nothing
// but the connection. Any goroutine may write to it.
type peer struct {
	conn    net.Conn
	in      *input        // stdin that has come and is not read yet
	out     *limit.Credit // how much output the shim still takes
	signals chan executor.Delivery
	resize  chan executor.Winsize // nil: the call has no terminal
	reader  sync.WaitGroup
	gotINT  bool          // the last signal of the caller was INT; only the reader uses it
	toGroup bool          // the next signal is for the command's process group; only the reader uses it
	stop    func() bool   // ends the watch over the context
	json    bool          // the caller reads the end of its call as JSON; set when the request was read
	notRun  func(Failure) // reports the end of a text that has not started, if its caller expects a report; see ReportText

	sending sendLimit

	mu         sync.Mutex // held while a frame is written; guards the fields below
	unsent     []byte     // of a frame that the caller did not read in time
	unsentExit bool       // it ends with an Exit
}

func newPeer(conn net.Conn) *peer {
	p := &peer{
		conn:    conn,
		out:     limit.NewCredit(wire.Window),
		signals: make(chan executor.Delivery, 4),
	}
	p.in = newInput(p.giveCredit)
	return p
}

// closeWhenDone closes the connection when ctx ends, so that no read or write blocks afterwards.
func (p *peer) closeWhenDone(ctx context.Context) { p.stop = context.AfterFunc(ctx, p.hangUp) }

// start begins to read frames, and new sizes among them if the call has a terminal. It calls cancel when the shim hangs
// up or breaks the protocol.
func (p *peer) start(cancel context.CancelCauseFunc, tty bool) {
	if tty {
		p.resize = make(chan executor.Winsize, 1)
	}
	// ends when conn does; close closes conn.
	p.reader.Go(func() { cancel(p.read()) })
}

func (p *peer) hangUp() {
	p.conn.Close()
	p.in.Close()
	p.out.Close()
}

// close closes the connection and returns when the reader has.
func (p *peer) close() {
	if p.stop != nil {
		p.stop()
	}
	p.hangUp()
	p.reader.Wait()
}

// read handles frames until the stream ends, and returns the reason of the end.
func (p *peer) read() error {
	var head [wire.HeaderLen]byte
	for {
		if _, err := io.ReadFull(p.conn, head[:]); err != nil {
			if p.gotINT {
				return approval.ErrWithdrawn
			}
			return errHungUp
		}
		kind, n, err := wire.ParseHeader(head[:])
		if err == nil {
			err = p.frame(kind, n)
		}
		if err != nil {
			return fmt.Errorf("frame from the caller: %w", err)
		}
	}
}

var payloads = sync.Pool{New: func() any { return new([wire.MaxFrame]byte) }}

// frame reads the payload of one frame, n bytes, and handles it. It borrows a buffer only now that there is
// data.
func (p *peer) frame(kind wire.Kind, n int) error {
	if n > wire.MaxFrame {
		return wire.ErrTooLong
	}
	buf := payloads.Get().(*[wire.MaxFrame]byte)
	defer payloads.Put(buf)
	b := buf[:n]
	if _, err := io.ReadFull(p.conn, b); err != nil {
		return errHungUp
	}
	switch kind {
	case wire.KindStdin:
		return p.in.put(b)
	case wire.KindStdinEOF:
		p.in.end()
	case wire.KindWinsize:
		w, err := wire.ParseWinsize(b)
		if err != nil {
			return err
		}
		p.resized(executor.Winsize(w))
	case wire.KindSignal:
		p.signal(string(b))
	case wire.KindCredit:
		n, err := wire.ParseCredit(b)
		if err != nil {
			return err
		}
		return p.out.Give(int64(n))
	default:
		return wire.ErrKind
	}
	return nil
}

// signal queues a signal for the command. Like the kernel, it does not count: signals that arrive faster
// than the command takes them are dropped.
func (p *peer) signal(name string) {
	p.gotINT = name == "INT"
	if name == wire.ToCommand || name == wire.ToGroup {
		p.toGroup = name == wire.ToGroup
		return
	}
	if !slices.ContainsFunc(wire.Signals[:], func(s wire.Signal) bool { return s.Name == name }) {
		return
	}
	select {
	case p.signals <- executor.Delivery{Signal: name, Group: p.toGroup}:
	default:
	}
	p.toGroup = false
}

// resized leaves only the latest size to be taken.
func (p *peer) resized(w executor.Winsize) {
	for p.resize != nil {
		select {
		case p.resize <- w:
			return
		default:
		}
		select {
		case <-p.resize:
		default:
		}
	}
}

// send writes one frame of at most wire.MaxFrame bytes.
func (p *peer) send(kind wire.Kind, payload []byte) error {
	var head [wire.HeaderLen]byte
	bufs := net.Buffers{wire.AppendHeader(head[:0], kind, len(payload)), payload}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.unsent) > 0 {
		if kind != wire.KindExit || p.unsentExit {
			return errStalled
		}
		bufs = slices.Insert(bufs, 0, p.unsent)
	}
	p.sending.begin(p)
	defer p.sending.end()
	_, err := bufs.WriteTo(p.conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.keepUnsent(kind, bufs)
		return errStalled
	}
	return err
}

// giveCredit lets the shim send n bytes more.
func (p *peer) giveCredit(n int) { p.send(wire.KindCredit, wire.AppendCredit(nil, uint32(n))) }

// exit sends the last frame.
func (p *peer) exit(e wire.Exit) error { return p.send(wire.KindExit, e.Append(nil)) }

// end sends the last frame of a call that has no exit code of a command.
func (p *peer) end(e Failure) error { return p.exit(p.failed(e)) }

// failed returns the last frame of such a call. It first sends the report that the caller expects.
func (p *peer) failed(e Failure) wire.Exit {
	if p.notRun != nil {
		p.notRun(e)
	}
	return e.frame(p.json)
}

// writer returns a writer that sends its bytes as frames of kind, at the pace of the shim.
func (p *peer) writer(kind wire.Kind) io.Writer { return &output{p: p, kind: kind} }

type output struct {
	p    *peer
	kind wire.Kind
}

var errStalled = errors.New("the caller takes no more output")

func (o *output) Write(b []byte) (n int, err error) {
	for n < len(b) {
		m, ok := o.p.out.Take(min(len(b)-n, wire.MaxFrame))
		if !ok {
			return n, errStalled
		}
		if err := o.p.send(o.kind, b[n:n+m]); err != nil {
			return n, err
		}
		n += m
	}
	return n, nil
}
