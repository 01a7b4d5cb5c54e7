// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// eventReader reads a page's events.
type eventReader struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  context.CancelFunc
}

func (s *served) readEvents(edit func(*http.Request)) *eventReader {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	s.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address.Origin+"/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set(tokenHeader, s.address.Token)
	if edit != nil {
		edit(req)
	}
	resp, err := (&http.Transport{}).RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("events: %s, %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	e := &eventReader{s.t, bufio.NewScanner(resp.Body), cancel}
	e.lines.Buffer(nil, 16<<20)
	return e
}

// next returns the data of the next event called name that contains part.
func (e *eventReader) next(name, part string) string {
	e.t.Helper()
	var event string
	var data []string
	for e.lines.Scan() {
		line := e.lines.Text()
		switch {
		case strings.HasPrefix(line, "event: "):
			event = line[7:]
		case strings.HasPrefix(line, "data: "):
			data = append(data, line[6:])
		case line == "":
			if text := strings.Join(data, "\n"); event == name && strings.Contains(text, part) {
				return text
			}
			event, data = "", nil
		case !strings.HasPrefix(line, ":"):
			e.t.Fatalf("the stream has a line %q", line)
		}
	}
	e.t.Fatalf("no event %s with %q came: %v", name, part, e.lines.Err())
	return ""
}

// TestEvents checks that the first event has the current questions and that every change is sent, as JSON
// and as cards.
func TestEvents(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	first := w.ask(t, ask1, "make", "one")
	json, cards := s.readEvents(nil), s.readEvents(html)
	if got := json.next("pending", ""); !strings.Contains(got, ask1) {
		t.Errorf("the first event lacks what waits: %s", got)
	}
	if got := cards.next("pending", ""); !strings.Contains(got, `id="r-`+ask1) || !strings.Contains(got, "\n") {
		t.Errorf("the first event lacks the card of what waits: %s", got)
	}
	second := w.ask(t, "00000000000000a2", "make", "two")
	cards.next("pending", `id="r-00000000000000a2`)
	later := newWatcher(t, store) // a new session
	third := later.ask(t, "00000000000000a3", "make", "three")
	json.next("pending", "00000000000000a3")
	s.try(http.MethodPost, "/deny/00000000000000a2", "", nil)
	<-second
	cards.next("pending", "request settled denied")
	s.try(http.MethodPost, "/deny/"+ask1, "", nil)
	s.try(http.MethodPost, "/deny/00000000000000a3", "", nil)
	<-first
	<-third
	if got := json.next("pending", "[]"); got != "[]" {
		t.Errorf("when all are answered: %s", got)
	}
}

// TestPageCountsAsApprover checks that the page counts as an approver while a browser is connected, and shortly after.
func TestPageCountsAsApprover(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	w.queue.CanNotify = nil
	refused := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		return w.queue.Ask(ctx, approval.Question{ID: "01", Args: []string{"make"}, Session: w.id}, nil).Outcome == approval.Refused
	}
	if !refused() {
		t.Error("with no browser, somebody is asked")
	}
	e := s.readEvents(nil)
	e.next("pending", "")
	for changed := s.state.Changed(); s.state.sessions() == 0; changed = s.state.Changed() {
		<-changed
	}
	if refused() {
		t.Error("with a browser, nobody is asked")
	}
	e.stop()
	if refused() {
		t.Error("a moment after the browser has gone, nobody is asked")
	}
}

// TestOpensBrowser checks that a page with Open opens one browser for a question.
func TestOpensBrowser(t *testing.T) {
	store := newStore(t)
	w := newWatcher(t, store)
	w.queue.CanNotify = nil
	opened := make(chan string, 8)
	s := serve(t, &Page{Store: store, Open: func(link string) error { opened <- link; return nil }})
	changed := s.state.Changed()
	for s.state.sessions() == 0 {
		<-changed
		changed = s.state.Changed()
	}
	got := w.ask(t, ask1, "make")
	link := <-opened
	if s.tokens.redeem(codeIn(t, link), time.Now()).token == "" {
		t.Errorf("the link is %s, which opens nothing", link)
	}
	second := w.ask(t, "00000000000000a2", "make", "two")
	s.try(http.MethodPost, "/deny/"+ask1, "", nil)
	s.try(http.MethodPost, "/deny/00000000000000a2", "", nil)
	<-got
	<-second
	if len(opened) != 0 {
		t.Error("it opened another browser at once")
	}
}

// TestIdle checks that an idle page ends, even if a session without a watcher exists.
//
// Attack 117.
func TestIdle(t *testing.T) {
	store := newStore(t)
	p := &Page{Store: store, Open: func(string) error { return nil }, Idle: 50 * time.Millisecond}
	if err := p.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Serve(t.Context()); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := Find(t.Context(), store); err != errNone {
		t.Errorf("Find of a page that has ended: %v, want %v", err, errNone)
	}
	if _, err := os.Stat(addressFile(store)); !os.IsNotExist(err) {
		t.Errorf("it leaves %s behind: %v", addressFile(store), err)
	}
}

// TestOnePage checks that there is one page per user, and that a second process finds it.
//
// Attack 116.
func TestOnePage(t *testing.T) {
	store := newStore(t)
	if _, err := Find(t.Context(), store); err != errNone {
		t.Errorf("Find of nothing: %v, want %v", err, errNone)
	}
	s := newPage(t, store)
	if err := (&Page{Store: store}).Listen(t.Context()); err != ErrTaken {
		t.Errorf("a second page: %v, want %v", err, ErrTaken)
	}
	address, err := Find(t.Context(), store)
	if err != nil || address != s.address {
		t.Errorf("Find = %+v, %v, want %+v", address, err, s.address)
	}
	if fi, err := os.Stat(addressFile(store)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v, want 0600", addressFile(store), fi.Mode(), err)
	}
	other := newPage(t, newStore(t)) // of another user: the port is taken
	if other.address.Origin == s.address.Origin {
		t.Errorf("two pages at %s", other.address.Origin)
	}
}

// TestStart checks that Start starts one page only, and that it ends by itself.
func TestStart(t *testing.T) {
	store := newStore(t)
	address := started(t, store)
	if again := started(t, store); again != address {
		t.Errorf("a second Start led to %+v, want %+v", again, address)
	}
	lock := flock.New(lockFile(store))
	defer lock.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); !ok {
		t.Errorf("the page has not ended: %v", err)
	}
}

// Attack 114.
func TestTooManyStreams(t *testing.T) {
	s := newPage(t, newStore(t))
	for range maxStreams {
		s.readEvents(nil).next("pending", "")
	}
	if a := s.try(http.MethodGet, "/events", "", nil); a.code != 503 {
		t.Errorf("one more = %d", a.code)
	}
}

func TestFrame(t *testing.T) {
	if got, want := frame("x", "a\n\nb"), "event: x\ndata: a\ndata: \ndata: b\n\n"; got != want {
		t.Errorf("frame = %q, want %q", got, want)
	}
}

// started starts a page and waits until it answers.
func started(t *testing.T, store *state.Store) Address {
	t.Helper()
	if err := Start(store); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		p, err := Find(ctx, store)
		if err == nil {
			return p
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}
