// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// largeSession is a session with the largest lists that a container can cause. The entries share their text,
// which would otherwise take many gigabytes.
type largeSession struct {
	session
	n    int
	text []string
	log  string

	mu     sync.Mutex // guards the field below
	killed string
}

func (s *largeSession) Status() Status {
	st := Status{API: APIVersion, State: StateRunning, Calls: s.n}
	for i := range s.n {
		st.Running = append(st.Running, Running{Request: requestID(i), Args: s.text, Dir: s.text[1], PID: i + 2, Since: time.Now()})
	}
	for i := range 100 {
		st.Shells = append(st.Shells, shell.Info{Name: fmt.Sprint("s", i), Dir: s.text[1]})
	}
	return st
}

func (s *largeSession) Jobs() (all []job.Info) {
	for i := range s.n {
		all = append(all, job.Info{ID: requestID(i), Status: job.Running, Args: s.text, Dir: s.text[1], Reason: s.text[1]})
	}
	return all
}

func (s *largeSession) Leftovers() (all []Leftover) {
	for i := range s.n {
		all = append(all, Leftover{Request: requestID(i), Args: s.text})
	}
	return all
}

func (s *largeSession) AuditLog() string { return s.log }

func (s *largeSession) Kill(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = id
	return true
}

func requestID(i int) string { return fmt.Sprintf("%016x", i) }

// start serves a session until the test ends.
func start(t *testing.T, s Session) *Client {
	t.Helper()
	dir := t.TempDir()
	ln, err := socket.Bind(dir, "control.sock", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	// Ends when ln is closed, below.
	wg.Go(func() {
		if err := Serve(ln, s); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	c := Dial(dir)
	t.Cleanup(func() { c.Close(); ln.Close(); wg.Wait() })
	return c
}

// TestManyCalls lists the largest number and size of calls, jobs and leftover processes that a container can cause.
// Under the race detector, the numbers are a tenth, and the long arguments shorter. It must be possible to list, to
// read completely and to end each entry.
//
// Attack 213.
func TestManyCalls(t *testing.T) {
	long := exectest.Scaled(2<<20, 128<<10) // bytes; the limit for a request is 2 MiB
	for _, tt := range []struct {
		name string
		n    int
		text []string
	}{
		{"calls with 15 arguments of 120 kB", exectest.Scaled(40, 4), append([]string{"hsh"}, slices.Repeat([]string{strings.Repeat("a", 120_000)}, 15)...)},
		{"calls with one long argument", exectest.Scaled(10_000, 1000), []string{"hsh", strings.Repeat("<", long)}},
		{"calls with bytes that are no text", exectest.Scaled(1000, 100), []string{"hsh", strings.Repeat("\xff", long)}},
		{"calls with 200,000 empty arguments", exectest.Scaled(100, 10), append([]string{"hsh", "\"\\"}, make([]string, 200_000)...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &largeSession{n: tt.n, text: tt.text}
			c := start(t, s)
			ctx := t.Context()
			st, err := c.Status(ctx)
			if err != nil || len(st.Running) != tt.n || len(st.Shells) != 100 {
				t.Fatalf("Status: %d calls and %d shells, %v", len(st.Running), len(st.Shells), err)
			}
			bytes := 0
			for _, arg := range tt.text {
				bytes += len(arg)
			}
			want := Cut{Args: len(tt.text), Bytes: bytes}
			last := st.Running[tt.n-1]
			if last.Cut == nil || *last.Cut != want || last.Args[0] != "hsh" {
				t.Errorf("the last call is %.200q, of %+v, want %+v", last.Args, last.Cut, want)
			}
			jobs, err := c.Jobs(ctx)
			if err != nil || len(jobs) != tt.n || *jobs[tt.n-1].Cut != want {
				t.Errorf("Jobs: %d, %v", len(jobs), err)
			}
			left, err := c.Leftovers(ctx)
			if err != nil || len(left) != tt.n || *left[tt.n-1].Cut != want {
				t.Errorf("Leftovers: %d, %v", len(left), err)
			}
			whole, err := c.Call(ctx, last.Request)
			if err != nil || whole.Cut != nil || !slices.Equal(whole.Args, names.PrintableArgs(tt.text)) || whole.Dir != names.Printable(tt.text[1]) {
				t.Errorf("Call: %d arguments, %v", len(whole.Args), err)
			}
			if j, err := c.Job(ctx, last.Request); err != nil || !slices.Equal(j.Args, names.PrintableArgs(tt.text)) {
				t.Errorf("Job: %d arguments, %v", len(j.Args), err)
			}
			if l, err := c.LeftoverOf(ctx, last.Request); err != nil || !slices.Equal(l.Args, names.PrintableArgs(tt.text)) {
				t.Errorf("LeftOf: %d arguments, %v", len(l.Args), err)
			}
			if err := c.Kill(ctx, last.Request); err != nil || s.killed != last.Request {
				t.Errorf("Kill of %s: %v, killed is %q", last.Request, err, s.killed)
			}
			if _, err := c.Call(ctx, "00"); !errors.Is(err, approval.ErrUnknown) {
				t.Errorf("Call of no call: %v", err)
			}
		})
	}
}

// TestListsAreBounded requests every list of a session whose texts are all long. No list may grow with the texts.
//
// Attack 213.
func TestListsAreBounded(t *testing.T) {
	long := strings.Repeat("<\x1b\xff", 1<<20)
	s := &largeSession{n: 50, text: []string{"hsh", long}, log: filepath.Join(t.TempDir(), "audit.log")}
	write(t, s.log, long)
	c := start(t, s)
	defer s.queue.AddApprover()()
	q := approval.Question{
		ID: "01", Args: []string{"hsh", long}, Cwd: long, Dir: long, Path: long, Rule: long, Session: "s", Container: long, Project: long,
		Branch: long, Agent: long, Effects: []string{long}, Notes: []string{long, long},
	}
	granted := ask(t, s, q)
	if err := s.queue.Grant("01", q.Digest(), []string{"01"}, "you", approval.Terms{Always: true}); err != nil {
		t.Fatal(err)
	}
	<-granted
	for i := range 5 {
		other := q
		other.ID, other.Args = requestID(i), append([]string{"hsh", fmt.Sprint(i)}, q.Args...)
		ask(t, s, other)
	}
	for _, path := range []string{"/session", "/sessions", "/jobs", "/left", "/pending", "/grants", "/audit"} {
		b, err := c.do(t.Context(), http.MethodGet, path, nil, http.StatusOK)
		if err != nil || len(b) > 1<<20 || len(b) < 100 {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Watch(ctx, func(all []Question) {
		if len(all) != 5 || all[0].Cut == nil || all[0].Digest != "" {
			t.Errorf("an event has %d questions", len(all))
		}
		cancel()
	}); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

// write writes an audit log with one short call, followed by calls with long arguments.
func write(t *testing.T, path, long string) {
	t.Helper()
	log, err := audit.Open(path, audit.SessionInfo{Session: "5f0c1a2b3c4d"}, audit.Options{Sync: audit.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for i := range 60 {
		args := []string{"hsh", long}
		if i == 0 {
			args = []string{"first"}
		}
		if err := log.Write(audit.Record{Kind: audit.Complete, Request: requestID(i), Args: args, Duration: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := History(path, "")
	if err != nil || len(all) != 60 || all[59].Cmd != "first" {
		t.Errorf("the history has %d ends, %v", len(all), err)
	}
}

func ask(t *testing.T, s *largeSession, q approval.Question) <-chan approval.Answer {
	t.Helper()
	changed, answer := s.queue.Changed(), make(chan approval.Answer, 1)
	// Ends with the answer or with the test's context.
	go func() { answer <- s.queue.Ask(t.Context(), q, nil) }()
	<-changed
	return answer
}

// TestCutQuestion checks that a cut question cannot be approved, and that the complete question can be
// fetched.
//
// Attack 94.
func TestCutQuestion(t *testing.T) {
	s, c := serve(t)
	defer s.queue.AddApprover()()
	long := strings.Repeat("all is well ", 4000) + "; rm -rf /"
	answer := put(t, s, "01", "hsh", "-c", long)
	all, err := c.Pending(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("Pending = %d, %v", len(all), err)
	}
	q := all[0]
	if q.Digest != "" || q.Cut == nil || q.Cut.Args != 3 || q.Cut.Bytes != len(long)+5 || !strings.HasSuffix(q.Args[2], "...") {
		t.Errorf("the list has %+v", q)
	}
	if err := c.Approve(t.Context(), q, approval.Terms{}); !errors.Is(err, approval.ErrChanged) {
		t.Errorf("Approve of a part: %v, want %v", err, approval.ErrChanged)
	}
	whole, err := c.Complete(t.Context(), q)
	if err != nil || whole.Cut != nil || whole.Args[2] != long {
		t.Fatalf("Whole = %.100q, %v", whole.Args, err)
	}
	if same, err := c.Complete(t.Context(), whole); err != nil || same.Digest != whole.Digest {
		t.Errorf("Whole of what is whole: %v", err)
	}
	if err := c.Approve(t.Context(), whole, approval.Terms{}); err != nil {
		t.Error(err)
	}
	if a := <-answer; a.Outcome != approval.Approved {
		t.Errorf("the answer is %+v", a)
	}
	if _, err := c.Complete(t.Context(), q); !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("Whole of what waits no more: %v", err)
	}
}

// TestShortQuestion checks that a list does not cut short questions, as most are.
func TestShortQuestion(t *testing.T) {
	q := approval.Question{ID: "01", Args: []string{"hsh", strings.Repeat("x", maxListedQuestion-100)}}
	if s := listed(q); s.Cut != nil || s.Digest != q.Digest() {
		t.Errorf("it is cut: %+v", s.Cut)
	}
	q.Args = append(q.Args, make([]string, 200)...)
	if s := listed(q); s.Cut == nil || s.Digest != "" {
		t.Error("200 empty arguments are no text")
	}
}

// TestCutReply checks a watcher that ends in the middle of its reply, and one that sends an invalid
// reply. The client must return an error other than ErrNoWatcher, not an empty list.
//
// Attack 213.
func TestCutReply(t *testing.T) {
	for name, reply := range map[string]string{
		"cut":    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n" + `{"api": 1, "running": [`,
		"ended":  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\r\n" + `{"api": 1, "running": [`,
		"silent": "",
	} {
		dir := t.TempDir()
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: state.ControlSock(dir)})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		// Ends when ln is closed, below.
		wg.Go(func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, reply)
				conn.Close()
			}
		})
		c := Dial(dir)
		for verb, err := range map[string]error{
			"Status": second(c.Status(t.Context())), "Jobs": second(c.Jobs(t.Context())), "Left": second(c.Leftovers(t.Context())),
			"Pending": second(c.Pending(t.Context())), "Grants": second(c.Answers(t.Context(), KindGrant)), "Shells": second(c.Shells(t.Context())),
		} {
			if err == nil || errors.Is(err, ErrNoWatcher) {
				t.Errorf("%s of a reply that is %s: %v", verb, name, err)
			}
		}
		c.Close()
		ln.Close()
		wg.Wait()
		if err := os.Remove(state.ControlSock(dir)); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
