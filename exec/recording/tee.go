// SPDX-License-Identifier: Apache-2.0

package recording

import "io"

// Stream is a stream of a command. Players show both as one.
type Stream int

const (
	Stdout Stream = iota
	Stderr
)

// Tee returns a writer that records what it passes on to w. A nil Recording records nothing.
func (r *Recording) Tee(s Stream, w io.Writer) io.Writer {
	if r == nil || w == nil {
		return w
	}
	return tee{r, s, w}
}

type tee struct {
	r      *Recording
	stream Stream
	w      io.Writer
}

// Write records p even if w fails, because the command has written it. Close of the Recording returns its own errors,
// because a command does not fail if its recording fails.
func (t tee) Write(p []byte) (int, error) {
	t.r.output(t.stream, p)
	return t.w.Write(p)
}
