// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

type session struct {
	st      Status
	stopped chan struct{}
	grace   time.Duration
	queue   approval.Queue
	runs    string // the request whose command runs
	sent    string // the signal that was sent to the job
}

func (s *session) Status() Status { return s.st }
func (s *session) Stop(grace time.Duration) {
	s.grace = grace
	close(s.stopped)
}

func (s *session) Record() state.Session {
	return state.Session{ID: "5f0c1a2b3c4d", ContainerName: "web"}
}
func (s *session) AuditLog() string   { return "/nonexistent" }
func (s *session) AgentRules() string { return "# Rules\n" }

func (s *session) Kill(id string) bool      { return id != "" && id == s.runs }
func (s *session) Leftovers() []Leftover    { return nil }
func (s *session) EndLeftovers(string) bool { return false }

func (s *session) Queue() *approval.Queue { return &s.queue }

func (s *session) Jobs() []job.Info {
	return []job.Info{{ID: "00aa000000000000", Status: job.Running, Args: []string{"a\x1b"}, Reason: "\u202e"}}
}

// EndJob accepts one job, which runs until it gets a signal.
func (s *session) EndJob(_ context.Context, id, sig string) error {
	switch {
	case id != "00aa000000000000":
		return fmt.Errorf("%w: %q", job.ErrUnknown, id)
	case s.sent != "":
		return fmt.Errorf("job %s: %w", id, job.ErrEnded)
	}
	s.sent = sig
	return nil
}

// checkJobs checks that a job is shown in printable ASCII, and can be signalled only while it runs.
func checkJobs(t *testing.T, c *Client) {
	t.Helper()
	all, err := c.Jobs(t.Context())
	if err != nil || len(all) != 1 || all[0].Args[0] != `"a\x1b"` || all[0].Reason != `"\u202e"` {
		t.Errorf("Jobs = %+v, %v", all, err)
	}
	id := all[0].ID
	if err := c.SignalJob(t.Context(), id, "BOGUS"); err == nil || !strings.Contains(err.Error(), "not a signal") {
		t.Errorf("SignalJob BOGUS = %v", err)
	}
	if err := c.SignalJob(t.Context(), "00ab000000000000", ""); !errors.Is(err, job.ErrUnknown) {
		t.Errorf("SignalJob of no job = %v, want %v", err, job.ErrUnknown)
	}
	if err := c.SignalJob(t.Context(), id, "sighup"); err != nil {
		t.Errorf("SignalJob = %v", err)
	}
	if err := c.SignalJob(t.Context(), id, ""); !errors.Is(err, job.ErrEnded) {
		t.Errorf("SignalJob of what has ended = %v, want %v", err, job.ErrEnded)
	}
	for _, tt := range []struct {
		path string
		code int
		want string
	}{
		{"/jobs/00ab000000000000/signal", http.StatusNotFound, `{"error":"no such job"}`},
		{"/jobs/" + id + "/signal", http.StatusConflict, `{"error":"it has ended"}`},
		{"/kill/00fe", http.StatusNotFound, `{"error":"no command runs for that request"}`},
	} {
		if got, err := c.do(t.Context(), http.MethodPost, tt.path, nil, tt.code); err != nil || string(got) != tt.want+"\n" {
			t.Errorf("POST %s = %s, %v, want %s", tt.path, got, err, tt.want)
		}
	}
}

func TestErrorStatus(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{approval.ErrUnknown, 404}, {approval.ErrNoGrant, 404}, {approval.ErrNoDenial, 404}, {ErrNotRunning, 404}, {job.ErrUnknown, 404},
		{approval.ErrChanged, 409}, {job.ErrEnded, 409},
		{approval.ErrTerms, 400}, {approval.ErrNoInputs, 400}, {&approval.VaryError{Reason: "x"}, 400},
		{ErrStartedByCall, 403},
		{ErrNoWatcher, 0}, {errors.New("disk full"), 0},
	} {
		if got := ErrorStatus(fmt.Errorf("session s: %w", tt.err)); got != tt.want {
			t.Errorf("ErrorStatus(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestControl uses a directory whose path is too long for a socket address.
func TestControl(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := Dial(dir)
	defer c.Close()
	if _, err := c.Status(context.Background()); !errors.Is(err, ErrNoWatcher) {
		t.Errorf("Status without a watcher = %v, want %v", err, ErrNoWatcher)
	}
	ln, err := socket.Bind(dir, "control.sock", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "control.sock")); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v, want 0600", fi.Mode(), err)
	}
	s := &session{st: Status{API: APIVersion, Version: "v1", State: StateRunning, Calls: 3, Running: []Running{{Request: "00ff", Args: []string{"make", "a b"}}}}, stopped: make(chan struct{})}
	var wg sync.WaitGroup
	// Ends when ln is closed, below.
	wg.Go(func() {
		if err := Serve(ln, s); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	if text, err := c.AgentRules(context.Background()); err != nil || text != s.AgentRules() {
		t.Errorf("AgentRules = %q, %v", text, err)
	}
	if st, err := c.Status(context.Background()); err != nil || !reflect.DeepEqual(st, s.st) {
		t.Errorf("Status = %+v, %v, want %+v", st, err, s.st)
	}
	s.runs = "00ff"
	if err := c.Kill(context.Background(), "00ff"); err != nil {
		t.Errorf("Kill of what runs: %v", err)
	}
	if err := c.Kill(context.Background(), "00fe"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Kill of what does not = %v, want %v", err, ErrNotRunning)
	}
	checkJobs(t, c)
	if err := c.Stop(context.Background(), 3*time.Second); err != nil {
		t.Error(err)
	}
	if <-s.stopped; s.grace != 3*time.Second {
		t.Errorf("grace of Stop = %s, want 3s", s.grace)
	}
	if _, err := c.do(context.Background(), http.MethodPost, "/session", nil, http.StatusOK); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("an unknown request: %v, want the other version named", err)
	}
	ln.Close()
	wg.Wait()
	if _, err := c.Status(context.Background()); !errors.Is(err, ErrNoWatcher) {
		t.Errorf("Status after the watcher = %v, want %v", err, ErrNoWatcher)
	}
}
