// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Event is one event of a recording.
type Event struct {
	After time.Duration // since the beginning of the recording
	Code  string        // "o": output; "m": a remark about the recording
	Data  string
}

// IsMarker reports whether e is a remark about the recording, not output.
func (e Event) IsMarker() bool { return e.Code == markerCode }

// Player reads the events of a recording in order.
type Player struct {
	Header Header
	f      *os.File
	buf    *bufio.Reader
	line   int
}

// Open opens the recording of the request with the ID request, or the only recording whose ID
// begins with request.
func Open(dir, request string) (*Player, error) {
	name, err := find(dir, request)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	// This bounds the memory for a line: no recording is that long.
	p := &Player{f: f, buf: bufio.NewReader(io.LimitReader(f, 2*maxSize))}
	b, err := p.read()
	if err == nil {
		err = json.Unmarshal(b, &p.Header)
	}
	if err == nil && p.Header.Version != 2 {
		err = fmt.Errorf("it is of version %d, not 2", p.Header.Version)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read recording %s: %w", f.Name(), err), f.Close())
	}
	return p, nil
}

func find(dir, request string) (string, error) {
	none := fmt.Errorf("no recording of request %s", names.Quoted(request))
	if !form.Matches(request) {
		return "", none
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("find recording: %w", err)
	}
	hits := names.FindID(entries, fs.DirEntry.Name, request)
	switch len(hits) {
	case 0:
		return "", none
	case 1:
		return hits[0].Name(), nil
	}
	return "", fmt.Errorf("%s begins %d recordings: give more of it", names.Quoted(request), len(hits))
}

// read returns a line without its end. An incomplete line at the end counts as the end of the file:
// the writer was killed.
func (p *Player) read() ([]byte, error) {
	line, err := p.buf.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	p.line++
	return line[:len(line)-1], nil
}

// Next returns the next event, or io.EOF.
func (p *Player) Next() (Event, error) {
	b, err := p.read()
	if errors.Is(err, io.EOF) {
		return Event{}, io.EOF
	}
	var e Event
	if err == nil {
		e, err = parse(b)
	}
	if err != nil {
		return Event{}, fmt.Errorf("read recording %s: line %d: %w", p.f.Name(), p.line, err)
	}
	return e, nil
}

func parse(b []byte) (e Event, err error) {
	var after float64
	fields := []any{&after, &e.Code, &e.Data}
	if err := json.Unmarshal(b, &fields); err != nil {
		return e, err
	}
	if len(fields) != 3 || !(after >= 0 && after < math.MaxInt64/1e9) {
		return e, errors.New("not an event")
	}
	e.After = time.Duration(after * 1e9)
	return e, nil
}

// Close closes the recording.
func (p *Player) Close() error { return p.f.Close() }
