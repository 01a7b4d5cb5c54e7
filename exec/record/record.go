// SPDX-License-Identifier: Apache-2.0

// Package record keeps what a command wrote, and when, to be played again.
//
//	command --Recording.Stdout--> DIR/REQUEST --Open--> Player.Next --> Event
//
// A recording is an asciicast of version 2, which other players know as well: a line of
// JSON that describes it, then a line for each event. Its one law: it holds output only,
// never input, and no more than MaxSize; what is left out at its end it says. It shows
// nothing: what a command wrote is dangerous to a terminal. Bytes that are no UTF-8 are not
// kept as they were: JSON has no words for them.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/docker-hostexec/hostexec/exec/spelling"
)

// MaxSize is how large a recording may become.
const MaxSize = 64 << 20

// Header describes a recording: the first line of it. Width and Height may be zero when
// there is no terminal; then those that every player has are written.
type Header struct {
	Version   int    `json:"version"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Timestamp int64  `json:"timestamp"`
	Command   string `json:"command,omitempty"`
	Title     string `json:"title,omitempty"`
}

// Recording is a recording that is being made. Its methods may be called at once.
type Recording struct {
	now   func() time.Time
	begin time.Time

	mu   sync.Mutex // guards the fields below
	f    *os.File   // nil once it is closed
	size int64
	max  int64
	full bool
	err  error     // the first; then nothing more is written
	rest [2][]byte // of stdout and stderr: the beginning of a character whose end has not come
}

var form = spelling.Form{Of: "0-9a-f", Min: 1, Max: 64}

// Create begins the recording of a request in dir, which it makes if need be. There is
// none of that request yet.
func Create(dir, request string, h Header) (*Recording, error) {
	r, err := create(dir, request, h)
	if err != nil {
		return nil, fmt.Errorf("record request %q: %w", request, err)
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
	// With O_EXCL no symbolic link is followed (open(2)).
	f, err := os.OpenFile(filepath.Join(dir, request), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Recording{now: time.Now, begin: time.Now(), f: f, max: MaxSize}
	h.Version, h.Timestamp = 2, r.begin.Unix()
	if h.Width <= 0 || h.Height <= 0 {
		h.Width, h.Height = 80, 24
	}
	if r.line(h); r.err != nil {
		return nil, errors.Join(r.err, f.Close(), os.Remove(f.Name()))
	}
	return r, nil
}

// Stdout records that the command wrote p. It keeps nothing of p, and an error of it is
// Close's: a command does not fail because its recording does.
func (r *Recording) Stdout(p []byte) { r.output(0, p) }

// Stderr is Stdout for the other stream; players show both as one.
func (r *Recording) Stderr(p []byte) { r.output(1, p) }

func (r *Recording) output(stream int, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) == 0 {
		return
	}
	whole := append(r.rest[stream], p...)
	n := len(whole) - partial(whole)
	r.rest[stream] = append([]byte(nil), whole[n:]...)
	r.event("o", string(whole[:n]))
}

// partial returns how many bytes at the end of p may be the beginning of a character.
func partial(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		tail := p[len(p)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// event writes one event, and as the last one that there was no room for more.
func (r *Recording) event(code, data string) {
	if data == "" || r.full {
		return
	}
	after := json.Number(fmt.Sprintf("%.6f", max(r.now().Sub(r.begin), 0).Seconds()))
	if r.full = !r.line([3]any{after, code, data}); r.full {
		r.max += 200 // for this
		r.line([3]any{after, markerCode, fmt.Sprintf("truncated: a recording holds at most %d bytes", MaxSize)})
	}
}

// markerCode is of an event that says something about the recording.
const markerCode = "m"

// line writes one line; it reports false when there is no room for it.
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

// Close ends the recording. It returns the first error that there was in making it.
func (r *Recording) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f == nil {
		return nil
	}
	for stream := range r.rest {
		r.event("o", string(r.rest[stream]))
		r.rest[stream] = nil
	}
	err := errors.Join(r.err, r.f.Close())
	name := r.f.Name()
	r.f = nil
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return nil
}
