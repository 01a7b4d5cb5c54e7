// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	maxStreams   = 4                // tabs at a time: a browser has six connections per host
	writeTimeout = 5 * time.Second  // for a client to read one event
	heartbeat    = 15 * time.Second // interval of comments on an idle stream
	settling     = time.Second      // for the first report of every session
)

// join adds a connected browser until leave is called. It returns false if too many are connected.
func (b *pageState) join() (leave func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.streams == maxStreams {
		return nil, false
	}
	b.streams++
	b.pendingChange = true
	b.wakeUp()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.streams--
		b.lastDisconnect = time.Now()
	}, true
}

func (b *pageState) browsers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.streams
}

// waitForReports waits until every session has reported, so that the first events to a browser are complete.
func (b *pageState) waitForReports(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	b.mu.Lock()
	first := b.rounds + 1
	b.mu.Unlock()
	for {
		changed := b.Changed()
		if b.reportedSince(first) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (b *pageState) reportedSince(round int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.watched {
		if !s.reported {
			return false
		}
	}
	return b.rounds >= round
}

// events answers GET /events. It sends questions, sessions, grants, denials and ended requests, now and after each
// change (server-sent events, WHATWG HTML section 9.2). Each event contains the complete list, so that a
// slow client misses nothing.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	leave, ok := p.state.join()
	if !ok {
		fail(w, http.StatusServiceUnavailable, "the page is open too often")
		return
	}
	defer leave()
	p.state.waitForReports(r.Context())
	conn := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	if conn.SetReadDeadline(time.Time{}) != nil { // the client sends nothing more
		return
	}
	var over <-chan struct{} // stays nil for the page's own token, which is never revoked
	if k := p.keyOf(r); k != nil {
		over = k.revoked
	}
	s := &stream{w: w, conn: conn, html: wantsHTML(r), sent: map[string]string{}}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		changed := p.state.Changed()
		select {
		case <-over:
			_ = s.write(frame("revoked", revoked)) // ignores errors: the stream ends anyway
			return
		default:
		}
		if s.sendChanges(p.state) != nil {
			return
		}
		select {
		case <-changed:
		case <-over:
		case <-beat.C:
			if s.write(": still there\n\n") != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// stream is the event stream of one client. sent holds the last data of each event.
type stream struct {
	w    http.ResponseWriter
	conn *http.ResponseController
	html bool
	sent map[string]string
}

// sendChanges sends the events whose data has changed.
func (s *stream) sendChanges(b *pageState) error {
	served, granted, denied, past := b.lists()
	for _, e := range []struct {
		name string
		html any
		json any
	}{
		{"pending", b.cards(), requests(b.questions())},
		{"sessions", served, served},
		{"grants", granted, granted},
		{"denials", denied, denied},
		{"audit", past, past},
	} {
		data, err := s.data(e.name, e.html, e.json)
		if err != nil {
			return err
		}
		if last, ok := s.sent[e.name]; ok && last == data {
			continue
		}
		s.sent[e.name] = data
		if err := s.write(frame(e.name, data)); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) data(name string, html, v any) (string, error) {
	if !s.html {
		b, err := json.Marshal(v)
		return string(b), err
	}
	var b bytes.Buffer
	err := templates().ExecuteTemplate(&b, name, html)
	return b.String(), err
}

// frame formats an event with one data line for each line of data.
func frame(name, data string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", name)
	for line := range bytes.SplitSeq([]byte(data), []byte("\n")) {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteByte('\n')
	return b.String()
}

func (s *stream) write(text string) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.conn.Flush()
}
