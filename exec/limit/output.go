// SPDX-License-Identifier: Apache-2.0

package limit

import "errors"

// Buffer keeps what is written to it. A write beyond Max bytes fails. It does not embed a bytes.Buffer, because io.Copy
// would call its ReadFrom, which has no limit.
type Buffer struct {
	Max      int
	Exceeded bool // a write has failed; an executor does not return the error of the write
	text     []byte
}

// errTooMuch is the error of a write to a Buffer that would have more than Max bytes.
var errTooMuch = errors.New("too much output")

// Write appends p, or fails.
func (b *Buffer) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > b.Max {
		b.Exceeded = true
		return 0, errTooMuch
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// Bytes returns all that was written.
func (b *Buffer) Bytes() []byte { return b.text }

// String returns all that was written.
func (b *Buffer) String() string { return string(b.text) }

// Prefix keeps the first Max bytes that are written to it, and drops the rest.
type Prefix struct {
	Max  int
	Text []byte
}

// Write never fails.
func (w *Prefix) Write(p []byte) (int, error) {
	w.Text = append(w.Text, p[:min(len(p), w.Max-len(w.Text))]...)
	return len(p), nil
}
