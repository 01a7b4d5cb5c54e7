// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/docker/docker/pkg/stdcopy"
)

// demux splits the engine's frames until EOF. frames must come from the engine, because the frame length
// is trusted.
func demux(stdout, stderr io.Writer, frames io.Reader) error {
	_, err := stdcopy.StdCopy(stdout, stderr, frames)
	return err
}

// droppingWriter copies bytes to a reader that may stop reading. While the reader makes progress, writers wait for it,
// and it gets all bytes. After stallTimeout without progress, bytes that do not fit into the buffer are dropped, and
// the reader later gets their number. So an agent continues even if no process reads its stderr.
type droppingWriter struct {
	dst     io.Writer
	queue   chan []byte
	done    chan struct{}
	taken   atomic.Int64 // number of chunks that the reader has taken
	stalled bool         // used by the writer only, like dropped
	dropped int
}

const (
	chunk        = 8 << 10 // bytes; small, so that a slow reader shows progress
	chunks       = 256     // at most 2 MiB are buffered
	stallTimeout = 2 * time.Second
)

func newDroppingWriter(dst io.Writer) *droppingWriter {
	s := &droppingWriter{dst: dst, queue: make(chan []byte, chunks), done: make(chan struct{})}
	// Ends after close when the reader has taken all chunks, or with the process.
	go s.run()
	return s
}

func (s *droppingWriter) run() {
	defer close(s.done)
	var err error
	for b := range s.queue {
		if err == nil {
			_, err = s.dst.Write(b)
		}
		s.taken.Add(1)
	}
}

// Write queues p or drops it. It never fails.
func (s *droppingWriter) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		m := min(len(p)-n, chunk)
		s.put(append([]byte{}, p[n:n+m]...))
		n += m
	}
	return len(p), nil
}

func (s *droppingWriter) put(b []byte) {
	data := s.withNotice(b)
	select {
	case s.queue <- data:
		s.stalled, s.dropped = false, 0
		return
	default:
	}
	if !s.stalled {
		t := time.NewTimer(stallTimeout)
		defer t.Stop()
		select {
		case s.queue <- data:
			return
		case <-t.C:
			s.stalled = true
		}
	}
	s.dropped += len(b)
}

// withNotice puts a message before b if bytes were dropped.
func (s *droppingWriter) withNotice(b []byte) []byte {
	if s.dropped == 0 {
		return b
	}
	return append(fmt.Appendf(nil, "\nhostexec: %d bytes that the agent wrote here are lost: nobody read them\n", s.dropped), b...)
}

// close returns when the reader has taken all chunks, or has made no progress for a while.
func (s *droppingWriter) close() {
	close(s.queue)
	tick := time.NewTicker(stallTimeout)
	defer tick.Stop()
	for before := s.taken.Load(); ; {
		select {
		case <-s.done:
			return
		case <-tick.C:
			now := s.taken.Load()
			if now == before {
				return
			}
			before = now
		}
	}
}
