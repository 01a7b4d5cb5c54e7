// SPDX-License-Identifier: Apache-2.0

// Package recording stores the output of a command with its times, for replay.
//
//	command --Recording.Tee--> DIR/REQUEST --Open--> Player.Next --> Event
//
// A recording is an asciicast file of version 2, which other players support too. It has one JSON line with a header,
// and one line for each event. It contains output only, never input, and at most 64 MiB; a remark at the end reports a
// cut. Bytes that are not valid UTF-8 are not preserved, because JSON cannot encode them. The package displays nothing,
// because output may contain control sequences.
package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// maxSize is the maximum size of a recording in bytes.
const maxSize = 64 << 20

// Header describes a recording and is its first line. If Width or Height is not positive, as
// without a terminal, 80 by 24 is written.
type Header struct {
	Version   int    `json:"version"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Timestamp int64  `json:"timestamp"`
	Command   string `json:"command,omitempty"`
	Title     string `json:"title,omitempty"`
}

// Recording is a recording in progress. Its methods are safe for concurrent use.
type Recording struct {
	now   func() time.Time
	begin time.Time

	mu             sync.Mutex // guards the fields below
	f              *os.File   // nil after Close
	size           int64
	max            int64
	full           bool
	err            error     // the first error; after it nothing is written
	incompleteChar [2][]byte // of stdout and stderr: the start of an incomplete character
}

var form = names.Form{Chars: "0-9a-f", Min: 1, Max: 64}

// Create starts the recording of a request in dir, which it creates if necessary. It fails if the
// request already has a recording.
func Create(dir, request string, h Header) (*Recording, error) {
	r, err := create(dir, request, h)
	if err != nil {
		return nil, fmt.Errorf("record request %s: %w", names.Quoted(request), err)
	}
	return r, nil
}

func create(dir, request string, h Header) (*Recording, error) {
	if !form.Matches(request) {
		return nil, errors.New("not the id of a request")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// O_EXCL also refuses symbolic links (open(2)).
	f, err := os.OpenFile(filepath.Join(dir, request), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Recording{now: time.Now, begin: time.Now(), f: f, max: maxSize}
	h.Version, h.Timestamp = 2, r.begin.Unix()
	if h.Width <= 0 || h.Height <= 0 {
		h.Width, h.Height = 80, 24
	}
	if r.line(h); r.err != nil {
		return nil, errors.Join(r.err, f.Close(), os.Remove(f.Name()))
	}
	return r, nil
}

// output records p, and does not retain it.
func (r *Recording) output(s Stream, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) == 0 {
		return
	}
	all := append(r.incompleteChar[s], p...)
	n := names.WholeRunes(all)
	r.incompleteChar[s] = append([]byte(nil), all[n:]...)
	r.event("o", string(all[:n]))
}

// event writes one event. If the recording is full, it writes a last event that says so.
func (r *Recording) event(code, data string) {
	if data == "" || r.full {
		return
	}
	after := json.Number(fmt.Sprintf("%.6f", max(r.now().Sub(r.begin), 0).Seconds()))
	if r.full = !r.line([3]any{after, code, data}); r.full {
		r.max += 200 // for the remark
		r.line([3]any{after, markerCode, fmt.Sprintf("truncated: a recording holds at most %d bytes", maxSize)})
	}
}

// markerCode is the code of an event that is a remark about the recording.
const markerCode = "m"

// line writes one line. It reports false if the line exceeds the size limit.
func (r *Recording) line(v any) bool {
	if r.err != nil || r.f == nil {
		return true
	}
	b, err := json.Marshal(v)
	if r.size+int64(len(b)) >= r.max {
		return false
	}
	if err == nil {
		_, err = r.f.Write(append(b, '\n'))
	}
	r.size += int64(len(b)) + 1
	r.err = err
	return true
}

// Close ends the recording. It returns the first error of the recording.
func (r *Recording) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f == nil {
		return nil
	}
	for stream := range r.incompleteChar {
		r.event("o", string(r.incompleteChar[stream]))
		r.incompleteChar[stream] = nil
	}
	err := errors.Join(r.err, r.f.Close())
	name := r.f.Name()
	r.f = nil
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return nil
}
