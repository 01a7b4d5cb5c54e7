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

// link is one stream to a relay. The data of calls is queued, and one goroutine writes it. So many small frames need
// only one write, and closing a call does not wait for the stream.
type link struct {
	stream io.ReadWriteCloser
	exited func() bool // whether the relay's process has ended; nil: the end of the stream shows it
	writer sync.WaitGroup
	done   chan struct{} // closed when the link has ended

	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // out has changed, or a call that waits for space in it
	calls   map[uint32]*conn
	out     []byte
	ended   bool
}

// maxQueued is the number of queued bytes at which calls wait.
const maxQueued = 4 * (wire.ChunkLen + wire.MaxChunk)

var errTooMany = errors.New("more calls than a relay may carry")

// open begins a call. It waits while the queue is full, because a relay that does not read may begin any number of
// calls, whose ends are queued.
func (l *link) open(call uint32) (*conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.out) >= maxQueued && !l.ended {
		l.changed.Wait()
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

// deliver hands b to a call. An empty b is the end of the call.
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

// send queues b for a call's shim, and waits for space in the queue. It fails if the call is closed.
func (l *link) send(c *conn, b []byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n < len(b) {
		for len(l.out) >= maxQueued && !l.ended && !c.dropped {
			l.changed.Wait()
		}
		if l.ended || c.dropped {
			return n, net.ErrClosed
		}
		chunk := b[n:min(len(b), n+wire.MaxChunk)]
		l.out = append(wire.AppendChunk(l.out, c.call, len(chunk)), chunk...)
		n += len(chunk)
		l.changed.Broadcast()
	}
	return n, nil
}

// drop removes a call, and queues its end: the relay closes the shim's connection after the data that was sent.
func (l *link) drop(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.dropped {
		return
	}
	c.dropped = true
	delete(l.calls, c.call)
	if !l.ended {
		l.out = wire.AppendChunk(l.out, c.call, 0)
	}
	l.changed.Broadcast()
}

// write writes queued data until the link ends.
func (l *link) write() {
	var spare []byte
	for {
		l.mu.Lock()
		for len(l.out) == 0 && !l.ended {
			l.changed.Wait()
		}
		if l.ended {
			l.mu.Unlock()
			return
		}
		b := l.out
		l.out = spare[:0]
		l.changed.Broadcast()
		l.mu.Unlock()
		if err := l.writeStream(b); err != nil {
			l.close() // then the reader ends, too
			return
		}
		spare = b
		if cap(spare) > maxQueued || l.idle() {
			spare = nil // no memory is kept without calls
		}
	}
}

// checkInterval is the time after which a blocked write checks whether the relay's process runs.
const checkInterval = time.Second

// writeStream writes b to the stream. After the end of a process, an engine accepts no more data, and ends the stream
// only when all output of the process was read. Because the reader may wait for this write, neither would end.
// Therefore writeStream closes the link if the process has ended.
func (l *link) writeStream(b []byte) error {
	written, checked := make(chan struct{}), make(chan struct{})
	// ends with the write, or when the relay has ended.
	check := time.AfterFunc(checkInterval, func() {
		defer close(checked)
		l.closeIfExited(written)
	})
	defer func() {
		close(written)
		if !check.Stop() {
			<-checked
		}
	}()
	_, err := l.stream.Write(b)
	return err
}

// closeIfExited closes the link if the relay's process has ended. It returns at the latest when written is closed.
func (l *link) closeIfExited(written <-chan struct{}) {
	if l.exited == nil {
		return
	}
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for !l.exited() {
		select {
		case <-written:
			return
		case <-tick.C:
		}
	}
	l.close()
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
	l.close()
	l.writer.Wait()
}

// close closes the stream and ends all its calls, so that nothing waits for space in the queue or for a call.
func (l *link) close() {
	l.stream.Close()
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.done)
	}
	calls := l.calls
	l.calls = nil
	l.changed.Broadcast()
	l.mu.Unlock()
	for _, c := range calls {
		c.hangUp()
	}
}
