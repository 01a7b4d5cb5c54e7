// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/docker/docker/pkg/stdcopy"
)

// demux takes the engine's frames apart, to their end. It must be the engine's: a frame's
// length is believed.
func demux(stdout, stderr io.Writer, frames io.Reader) error {
	_, err := stdcopy.StdCopy(stdout, stderr, frames)
	return err
}

// A spill hands bytes on to a reader who may not read. As long as he does, however slowly,
// he gets them all, and whoever writes waits for him. Once he has taken nothing for a
// while, nobody waits for him any more: what there is no room for is dropped, and when he
// reads again he is told how much. An agent whose stderr nobody reads goes on.
type spill struct {
	dst     io.Writer
	patient time.Duration // how long nothing may be taken
	queue   chan []byte
	done    chan struct{}
	taken   atomic.Int64 // chunks
	stalled bool         // the writer's own, as is dropped
	dropped int
}

const (
	chunk    = 8 << 10 // each is taken or not: small, so that a slow reader is seen to read
	chunks   = 256     // at most 2 MiB wait
	patience = 2 * time.Second
)

func newSpill(dst io.Writer, patient time.Duration) *spill {
	s := &spill{dst: dst, patient: patient, queue: make(chan []byte, chunks), done: make(chan struct{})}
	// ends when close was called and the reader has taken all, or with the process.
	go s.run()
	return s
}

func (s *spill) run() {
	defer close(s.done)
	var err error
	for b := range s.queue {
		if err == nil {
			_, err = s.dst.Write(b)
		}
		s.taken.Add(1)
	}
}

// Write takes p, or drops it. It never fails.
func (s *spill) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		m := min(len(p)-n, chunk)
		s.put(append([]byte{}, p[n:n+m]...))
		n += m
	}
	return len(p), nil
}

func (s *spill) put(b []byte) {
	note := s.note(b)
	select {
	case s.queue <- note:
		s.stalled, s.dropped = false, 0
		return
	default:
	}
	if !s.stalled {
		t := time.NewTimer(s.patient)
		defer t.Stop()
		select {
		case s.queue <- note:
			return
		case <-t.C:
			s.stalled = true
		}
	}
	s.dropped += len(b)
}

// note is b behind a word about what was dropped before it.
func (s *spill) note(b []byte) []byte {
	if s.dropped == 0 {
		return b
	}
	return append(fmt.Appendf(nil, "\nhostexec: %d bytes that the agent wrote here are lost: nobody read them\n", s.dropped), b...)
}

// close returns when the reader has all, or has taken nothing for a while.
func (s *spill) close() {
	close(s.queue)
	tick := time.NewTicker(s.patient)
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
