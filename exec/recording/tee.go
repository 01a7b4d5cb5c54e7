// SPDX-License-Identifier: Apache-2.0

package recording

import "io"

// TeeStdout returns a writer that records stdout and then writes to w. A nil Recording records nothing.
func (r *Recording) TeeStdout(w io.Writer) io.Writer {
	if r == nil || w == nil {
		return w
	}
	return tee{r.Stdout, w}
}

// TeeStderr returns a writer that records stderr and then writes to w. A nil Recording records nothing.
func (r *Recording) TeeStderr(w io.Writer) io.Writer {
	if r == nil || w == nil {
		return w
	}
	return tee{r.Stderr, w}
}

type tee struct {
	note func([]byte)
	w    io.Writer
}

// Write records p even if w fails, because the command has written it.
func (t tee) Write(p []byte) (int, error) {
	t.note(p)
	return t.w.Write(p)
}
