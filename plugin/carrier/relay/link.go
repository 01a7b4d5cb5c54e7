// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// link is one stream to a relay. What calls send is queued, and one goroutine writes it:
// many small frames go in one write, and a call that is closed waits for no stream.
type link struct {
	stream io.ReadWriteCloser
	exited func() bool // whether the relay's process has ended; nil: the stream says so
	writer sync.WaitGroup
	over   chan struct{} // closed when it has ended

	mu    sync.Mutex // guards the fields below
	more  sync.Cond  // out, or what waits for room in it, has changed
	calls map[uint32]*conn
	out   []byte
	ended bool
}

// maxQueued is how many bytes wait for the stream before calls do.
const maxQueued = 4 * (wire.ChunkLen + wire.MaxChunk)

var errTooMany = errors.New("more calls than a relay may carry")

// open begins a call. It waits while there is no room for what calls are sent: each of them
// has an end, and a relay that does not read may make any number of them.
func (l *link) open(call uint32) (*conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.out) >= maxQueued && !l.ended {
		l.more.Wait()
	}
	if l.ended {
		return nil, net.ErrClosed
	}
	if len(l.calls) >= maxCalls {
		return nil, errTooMany
	}
	c := newConn(l, call)
	l.calls[call] = c
	return c, nil
}

// deliver hands b to a call, which it is the end of if it is empty.
func (l *link) deliver(call uint32, b []byte) {
	l.mu.Lock()
	c := l.calls[call]
	l.mu.Unlock()
	switch {
	case c == nil:
	case len(b) == 0:
		c.hangUp()
	default:
		c.put(b)
	}
}

// send queues b for a call's shim, when there is room. It fails when the call is closed.
func (l *link) send(c *conn, b []byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n < len(b) {
		for len(l.out) >= maxQueued && !l.ended && !c.over {
			l.more.Wait()
		}
		if l.ended || c.over {
			return n, net.ErrClosed
		}
		chunk := b[n:min(len(b), n+wire.MaxChunk)]
		l.out = append(wire.AppendChunk(l.out, c.call, len(chunk)), chunk...)
		n += len(chunk)
		l.more.Broadcast()
	}
	return n, nil
}

// drop forgets a call, and has the relay hang up on its shim after all that was sent.
func (l *link) drop(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	delete(l.calls, c.call)
	if !l.ended {
		l.out = wire.AppendChunk(l.out, c.call, 0)
	}
	l.more.Broadcast()
}

// write writes what is queued until the link ends.
func (l *link) write() {
	var spare []byte
	for {
		l.mu.Lock()
		for len(l.out) == 0 && !l.ended {
			l.more.Wait()
		}
		if l.ended {
			l.mu.Unlock()
			return
		}
		b := l.out
		l.out = spare[:0]
		l.more.Broadcast()
		l.mu.Unlock()
		if err := l.pass(b); err != nil {
			l.cut() // the reader sees to the rest
			return
		}
		spare = b
		if cap(spare) > maxQueued || l.idle() {
			spare = nil // nothing is held for calls that are not there
		}
	}
}

// stalled is how long the stream may take nothing before the relay's process is looked for.
const stalled = time.Second

// pass writes b to the stream. An engine takes nothing more for a process that has ended, and
// ends the stream only when all that the process wrote is read. The reader may wait for this
// very write, so that neither ends: when the process has gone, the link is cut here.
func (l *link) pass(b []byte) error {
	over, looked := make(chan struct{}), make(chan struct{})
	// ends when the write does, or the relay has.
	look := time.AfterFunc(stalled, func() {
		defer close(looked)
		l.look(over)
	})
	defer func() {
		close(over)
		if !look.Stop() {
			<-looked
		}
	}()
	_, err := l.stream.Write(b)
	return err
}

// look cuts the link when the relay's process has ended. It returns at the latest when over is closed.
func (l *link) look(over <-chan struct{}) {
	if l.exited == nil {
		return
	}
	tick := time.NewTicker(stalled)
	defer tick.Stop()
	for !l.exited() {
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
	l.cut()
}

func (l *link) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) > 0 {
		return false
	}
	if len(l.out) == 0 {
		l.out = nil
	}
	return true
}

// end closes the stream, ends all its calls and waits for the writer.
func (l *link) end() {
	l.cut()
	l.writer.Wait()
}

// cut closes the stream and ends all its calls: nobody waits for room any more, nor the
// reader for a call.
func (l *link) cut() {
	l.stream.Close()
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.over)
	}
	calls := l.calls
	l.calls = nil
	l.more.Broadcast()
	l.mu.Unlock()
	for _, c := range calls {
		c.hangUp()
	}
}
