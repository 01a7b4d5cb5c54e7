// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/names"
)

const (
	maxLines = 50      // total for both streams
	maxLine  = 4 << 10 // bytes per line
)

// lastLines keeps the last lines that an agent writes on both streams, in the order in which they end.
type lastLines struct {
	mu    sync.Mutex // guards the fields below
	lines [maxLines][]byte
	n     int // number of lines so far
}

func (t *lastLines) add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := &t.lines[t.n%maxLines]
	*slot = append((*slot)[:0], line...)
	t.n++
}

// last returns the lines in printable form.
func (t *lastLines) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for i := max(0, t.n-maxLines); i < t.n; i++ {
		all = append(all, names.Escaped(string(t.lines[i%maxLines])))
	}
	return all
}

// stream returns a writer for one stream. Its flush adds an unfinished last line.
func (t *lastLines) stream() *tailWriter { return &tailWriter{tail: t} }

type tailWriter struct {
	tail      *lastLines
	line      []byte // the unfinished line
	truncated bool
}

// Write never fails.
func (w *tailWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			w.grow(p)
			return n, nil
		}
		w.grow(p[:end])
		w.close()
		p = p[end+1:]
	}
}

func (w *tailWriter) grow(p []byte) {
	free := maxLine - len(w.line)
	w.truncated = w.truncated || len(p) > free
	w.line = append(w.line, p[:min(len(p), free)]...)
}

// flush adds the unfinished line, if there is one.
func (w *tailWriter) flush() {
	if len(w.line) > 0 {
		w.close()
	}
}

func (w *tailWriter) close() {
	line := bytes.TrimSuffix(w.line, []byte("\r"))
	if w.truncated {
		line = append(line, "..."...)
	}
	w.tail.add(line)
	w.line, w.truncated = w.line[:0], false
}
