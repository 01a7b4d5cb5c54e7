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
	maxStreams    = 4                // tabs at a time: a browser has six connections per host
	writeTimeout  = 5 * time.Second  // for a client to read one event
	heartbeat     = 15 * time.Second // interval of comments on an idle stream
	reportTimeout = time.Second      // for the first report of every session
)

// join adds a connected browser until leave is called. It returns false if too many are connected.
func (ps *pageState) join() (leave func(), ok bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.streams == maxStreams {
		return nil, false
	}
	ps.streams++
	ps.pendingChange = true
	ps.wakeUp()
	return func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		ps.streams--
		ps.lastDisconnect = time.Now()
	}, true
}

func (ps *pageState) browsers() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.streams
}

// waitForReports waits until every session has reported, so that the first events to a browser are complete.
func (ps *pageState) waitForReports(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	ps.mu.Lock()
	first := ps.rounds + 1
	ps.mu.Unlock()
	for {
		changed := ps.Changed()
		if ps.reportedSince(first) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (ps *pageState) reportedSince(round int) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, s := range ps.watched {
		if !s.reported {
			return false
		}
	}
	return ps.rounds >= round
}

// events answers GET /events. It sends questions, sessions, grants, denials and ended requests, now and after each
// change (server-sent events, WHATWG HTML section 9.2). Each event contains the complete list, so that a
// slow client misses nothing.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	leave, ok := p.state.join()
	if !ok {
		replyError(w, http.StatusServiceUnavailable, "the page is open too often")
		return
	}
	defer leave()
	p.state.waitForReports(r.Context())
	conn := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	if conn.SetReadDeadline(time.Time{}) != nil { // the client sends nothing more
		return
	}
	var tokenRevoked <-chan struct{} // stays nil for the page's own token, which is never revoked
	if t := p.issuedToken(r); t != nil {
		tokenRevoked = t.revoked
	}
	s := &stream{w: w, conn: conn, html: wantsHTML(r), sent: map[string]string{}}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		changed := p.state.Changed()
		select {
		case <-tokenRevoked:
			_ = s.write(frame("revoked", revoked)) // ignores errors: the stream ends anyway
			return
		default:
		}
		if s.sendChanges(p.state) != nil {
			return
		}
		select {
		case <-changed:
		case <-tokenRevoked:
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
		{"pending", b.cards(), apiQuestions(b.questions())},
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
