// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A command that --proxy allows behaves as a local one. A command that a rule or a list allows gets only
// what the rule opens. By default it has no terminal, because a pager on a terminal is a shell, no stdin,
// and a limit for its output.

// restrictStreams removes from the request what v does not allow. It closes the passed descriptors concerned:
// the shim has its own.
func (r *request) restrictStreams(v *policy.Verdict) {
	if !v.Streams.Whole {
		r.restrictInput(v.Streams)
	}
	for i := range r.passed {
		counted := i > 0 && (!v.Streams.Whole || v.Record)
		// A confined program could connect a socket of the container to one of the host, and send descriptors through
		// it.
		if counted || r.fds[i] == wire.FDSocket && v.Place.Sandboxed {
			r.copy(i)
		}
	}
}

// copy has the bytes of descriptor i copied, if it was passed.
func (r *request) copy(i int) {
	if r.passed[i] >= 0 {
		closeAll(r.passed[i : i+1])
		r.passed[i] = -1
	}
}

func (r *request) restrictInput(allowed policy.Streams) {
	tty := r.fds[0] == wire.FDTTY && !allowed.TTY
	if allowed.Stdin.Mode != policy.StdinPipe && !(allowed.TTY && r.fds[0] == wire.FDTTY) || tty {
		r.stdinWithheld = r.fds[0] != wire.FDNull && r.fds[0] != wire.FDTTY
		r.drop(0)
	}
}

// drop gives the command /dev/null for descriptor i.
func (r *request) drop(i int) {
	r.copy(i)
	r.fds[i] = wire.FDNull
}

// outputCounter counts the bytes that a command writes, to stdout and stderr together.
type outputCounter struct {
	left atomic.Int64
	full atomic.Bool // it wrote more
}

// capOutput limits the output of s to n bytes. After that the command gets SIGPIPE, and the counter reports
// it.
func capOutput(s *executor.Streams, n int64) *outputCounter {
	m := &outputCounter{}
	m.left.Store(n)
	for _, w := range []*io.Writer{&s.Out, &s.Err} {
		if *w != nil && *w != io.Discard {
			*w = &countedWriter{m, *w}
		}
	}
	return m
}

type countedWriter struct {
	m *outputCounter
	w io.Writer
}

var errOutputLimit = errors.New("the output is more than the policy lets through")

func (w *countedWriter) Write(b []byte) (int, error) {
	n := int64(len(b))
	over := -min(0, w.m.left.Add(-n))
	if over == 0 {
		return w.w.Write(b)
	}
	w.m.full.Store(true)
	if over < n {
		if n, err := w.w.Write(b[:n-over]); err != nil {
			return n, err
		}
	}
	return int(max(0, n-over)), errOutputLimit
}

// capturedInput is a stdin that was read completely before the command runs.
type capturedInput struct{ *bytes.Reader }

func (capturedInput) Close() error { return nil }
