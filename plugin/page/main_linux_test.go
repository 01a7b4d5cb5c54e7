// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestMain also serves a page in the background when Start runs this binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && strings.Join(os.Args[1:], " ") == "hostexec ui --background" {
		store, err := state.Open()
		p := &Page{Store: store, Idle: 300 * time.Millisecond}
		if err == nil {
			err = p.Listen(context.Background())
		}
		if err == nil {
			err = p.Serve(context.Background())
		}
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// watcher fakes the watcher of one session: a queue behind a control socket.
type watcher struct {
	queue approval.Queue
	id    string
	rec   state.Session
	audit string // path of the log

	mu     sync.Mutex // guards the fields below
	runs   []control.Running
	killed []string
}

func (w *watcher) Queue() *approval.Queue { return &w.queue }
func (w *watcher) Stop(time.Duration)     {}
func (w *watcher) Record() state.Session  { return w.rec }
func (w *watcher) AuditLog() string       { return w.audit }
func (w *watcher) AgentRules() string     { return "# Rules\n" }

func (w *watcher) Jobs() []job.Info                             { return nil }
func (w *watcher) EndJob(context.Context, string, string) error { return job.ErrUnknown }

func (w *watcher) Status() control.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return control.Status{API: control.APIVersion, State: control.StateRunning, Carrier: "socket", CarrierWhy: "a connection of the container's has arrived", Calls: 3, Running: append([]control.Running{}, w.runs...)}
}

func (w *watcher) Leftovers() []control.Leftover { return nil }
func (w *watcher) EndLeftovers(string) bool      { return false }

func (w *watcher) Kill(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		if r.Request == id {
			w.killed = append(w.killed, id)
			return true
		}
	}
	return false
}

// ask adds a question and returns a channel for its answer.
func (w *watcher) ask(t *testing.T, id string, args ...string) <-chan approval.Answer {
	t.Helper()
	return w.askUntil(t.Context(), id, args...)
}

// askUntil is like ask, with a caller that leaves at the end of ctx.
func (w *watcher) askUntil(ctx context.Context, id string, args ...string) <-chan approval.Answer {
	changed, answer := w.queue.Changed(), make(chan approval.Answer, 1)
	q := approval.Question{
		ID: id, Args: args, Cwd: "/w", Dir: "/home/you/app", Path: "/usr/bin/" + args[0], Rule: "--proxy " + args[0] + "=ask",
		Session: w.id, Container: "web", Project: "app", Branch: "main", Effects: []string{"code"}, Grade: "certain",
	}
	switch args[0] {
	case "git":
		q.Grade = "possible"
	case "kubectl":
		q.Grade = "unknown"
	case "ls":
		q.Grade = ""
	}
	// Ends with the answer or with ctx.
	go func() {
		answer <- w.queue.Ask(ctx, q, nil)
	}()
	<-changed
	return answer
}

// newStore creates a state directory.
func newStore(t *testing.T) *state.Store {
	t.Helper()
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// newWatcher serves a session until the test ends. An approver always counts as present.
func newWatcher(t *testing.T, store *state.Store) *watcher {
	t.Helper()
	w := &watcher{id: state.NewID()}
	w.queue.CanNotify = func() bool { return true }
	rec := &state.Session{
		ID: w.id, Created: time.Now(), ContainerName: "web", Image: "debian", InvokedIn: "/home/you/app", Carrier: "socket",
		Commands: []state.Command{{Name: "make", Action: "ask", Path: "/usr/bin/make", Explicit: true}},
	}
	if err := store.Create(rec); err != nil {
		t.Fatal(err)
	}
	w.rec, w.audit = *rec, store.Audit()
	ln, err := socket.Bind(store.Dir(w.id), "control.sock", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	// Ends when ln is closed, at the end of the test.
	wg.Go(func() {
		if err := control.Serve(ln, w); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	return w
}

// served is a page on a real port, with a client that has its token.
type served struct {
	*Page
	t *testing.T
}

func newPage(t *testing.T, store *state.Store) *served {
	t.Helper()
	return serve(t, &Page{Store: store})
}

func serve(t *testing.T, p *Page) *served {
	t.Helper()
	if err := p.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	// Ends with ctx, at the end of the test.
	wg.Go(func() {
		if err := p.Serve(ctx); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return &served{p, t}
}

// answer is the reply to a request.
type answer struct {
	code   int
	header http.Header
	body   string
}

// try sends a request as the page's own script does, with the changes of edit. It may be called in any goroutine.
func (s *served) try(method, path, body string, edit func(*http.Request)) answer {
	s.t.Helper()
	req, err := http.NewRequest(method, s.address.Origin+path, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return answer{}
	}
	req.Header.Set(tokenHeader, s.address.Token)
	if method != http.MethodGet {
		req.Header.Set("Origin", s.address.Origin)
		req.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(req)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(req) // follows no redirection
	if err != nil {
		s.t.Errorf("%s %s: %v", method, path, err)
		return answer{}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Errorf("%s %s: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// get decodes the JSON reply of path into v.
func (s *served) get(path string, v any) {
	s.t.Helper()
	a := s.try(http.MethodGet, path, "", nil)
	if a.code != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		s.t.Fatalf("GET %s = %d, %s: %s", path, a.code, a.header.Get("Content-Type"), a.body)
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	if err := dec.Decode(v); err != nil {
		s.t.Fatalf("GET %s: %v: %s", path, err, a.body)
	}
}

// only returns the only waiting request.
func (s *served) only() APIQuestion {
	s.t.Helper()
	var all []APIQuestion
	if s.get("/pending", &all); len(all) != 1 {
		s.t.Fatalf("%d requests wait, want one", len(all))
	}
	return all[0]
}

// decision returns the body with which the page answers r.
func decision(r APIQuestion, reason string) string {
	b, _ := json.Marshal(control.Decision{Digest: r.Digest, Waiting: r.Waiting, Reason: reason})
	return string(b)
}
