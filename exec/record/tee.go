// SPDX-License-Identifier: Apache-2.0

package record

import "io"

// Out returns a writer that records what it is given as the command's stdout, and then
// gives it to w. A nil Recording records nothing.
func (r *Recording) Out(w io.Writer) io.Writer {
	if r == nil || w == nil {
		return w
	}
	return tee{r.Stdout, w}
}

// Err is Out for stderr.
func (r *Recording) Err(w io.Writer) io.Writer {
	if r == nil || w == nil {
		return w
	}
	return tee{r.Stderr, w}
}

type tee struct {
	note func([]byte)
	w    io.Writer
}

// Write records p even if nobody takes it: the command has written it.
func (t tee) Write(p []byte) (int, error) {
	t.note(p)
	return t.w.Write(p)
}
