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

// mux carries calls over one stream to a relay. Their data is queued, and one goroutine writes it. So many small frames
// need only one write, and closing a call does not wait for the stream.
type mux struct {
	stream io.ReadWriteCloser
	exited func() bool // whether the relay's process has ended; nil: the end of the stream shows it
	writer sync.WaitGroup
	done   chan struct{} // closed when the mux has ended

	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // out has changed, or a call that waits for space in it
	calls   map[uint32]*conn
	out     []byte
	ended   bool
}

// maxQueued is the number of queued bytes at which calls wait.
const maxQueued = 4 * (wire.ChunkHeaderLen + wire.MaxChunk)

var errTooMany = errors.New("more calls than a relay may carry")

// open begins a call. It waits while the queue is full, because a relay that does not read may begin any number of
// calls, whose ends are queued.
func (m *mux) open(call uint32) (*conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.out) >= maxQueued && !m.ended {
		m.changed.Wait()
	}
	if m.ended {
		return nil, net.ErrClosed
	}
	if len(m.calls) >= maxCalls {
		return nil, errTooMany
	}
	c := newConn(m, call)
	m.calls[call] = c
	return c, nil
}

// deliver hands b to a call. An empty b is the end of the call.
func (m *mux) deliver(call uint32, b []byte) {
	m.mu.Lock()
	c := m.calls[call]
	m.mu.Unlock()
	switch {
	case c == nil:
	case len(b) == 0:
		c.hangUp()
	default:
		c.put(b)
	}
}

// send queues b for a call's shim, and waits for space in the queue. It fails if the call is closed.
func (m *mux) send(c *conn, b []byte) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n < len(b) {
		for len(m.out) >= maxQueued && !m.ended && !c.dropped {
			m.changed.Wait()
		}
		if m.ended || c.dropped {
			return n, net.ErrClosed
		}
		chunk := b[n:min(len(b), n+wire.MaxChunk)]
		m.out = append(wire.AppendChunk(m.out, c.call, len(chunk)), chunk...)
		n += len(chunk)
		m.changed.Broadcast()
	}
	return n, nil
}

// drop removes a call, and queues its end: the relay closes the shim's connection after the data that was sent.
func (m *mux) drop(c *conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.dropped {
		return
	}
	c.dropped = true
	delete(m.calls, c.call)
	if !m.ended {
		m.out = wire.AppendChunk(m.out, c.call, 0)
	}
	m.changed.Broadcast()
}

// write writes queued data until the mux ends.
func (m *mux) write() {
	var spare []byte
	for {
		m.mu.Lock()
		for len(m.out) == 0 && !m.ended {
			m.changed.Wait()
		}
		if m.ended {
			m.mu.Unlock()
			return
		}
		b := m.out
		m.out = spare[:0]
		m.changed.Broadcast()
		m.mu.Unlock()
		if err := m.writeStream(b); err != nil {
			m.close() // then the reader ends, too
			return
		}
		spare = b
		if cap(spare) > maxQueued || m.idle() {
			spare = nil // no memory is kept without calls
		}
	}
}

// checkInterval is the time after which a blocked write checks whether the relay's process runs.
const checkInterval = time.Second

// writeStream writes b to the stream. After the end of a process, an engine accepts no more data, and ends the stream
// only when all output of the process was read. Because the reader may wait for this write, neither would end.
// Therefore writeStream closes the mux if the process has ended.
func (m *mux) writeStream(b []byte) error {
	written, checked := make(chan struct{}), make(chan struct{})
	// ends with the write, or when the relay has ended.
	check := time.AfterFunc(checkInterval, func() {
		defer close(checked)
		m.closeIfExited(written)
	})
	defer func() {
		close(written)
		if !check.Stop() {
			<-checked
		}
	}()
	_, err := m.stream.Write(b)
	return err
}

// closeIfExited closes the mux if the relay's process has ended. It returns at the latest when written is closed.
func (m *mux) closeIfExited(written <-chan struct{}) {
	if m.exited == nil {
		return
	}
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for !m.exited() {
		select {
		case <-written:
			return
		case <-tick.C:
		}
	}
	m.close()
}

func (m *mux) idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.calls) > 0 {
		return false
	}
	if len(m.out) == 0 {
		m.out = nil
	}
	return true
}

// end closes the stream, ends all its calls and waits for the writer.
func (m *mux) end() {
	m.close()
	m.writer.Wait()
}

// close closes the stream and ends all its calls, so that nothing waits for space in the queue or for a call.
func (m *mux) close() {
	m.stream.Close()
	m.mu.Lock()
	if !m.ended {
		m.ended = true
		close(m.done)
	}
	calls := m.calls
	m.calls = nil
	m.changed.Broadcast()
	m.mu.Unlock()
	for _, c := range calls {
		c.hangUp()
	}
}
