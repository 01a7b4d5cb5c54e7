// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Who asks for JSON gets the line that people read and one more, for every end that is not
// the command's own.
//
// Attack 47.
func TestJSON(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		status call.Status
		code   byte
		rule   string
		reason string // part of
	}{
		{"denied by rule", []string{"rm", "x"}, call.StatusRefused, 126, "--proxy rm=deny", "denied by"},
		{"nobody to ask", []string{"git"}, call.StatusRefused, 126, "--proxy git=ask", "nobody is there"},
		{"not proxied", []string{"id"}, call.StatusNotProxied, 127, "", "not a proxied command"},
		{"lost", []string{"lost"}, call.StatusNotFound, 127, "--proxy lost", "not found on the host any more"},
		{"not executable", []string{"passwd"}, call.StatusNotExecutable, 126, "--proxy passwd", "not executable"},
		{"bad usage", []string{"hostexec", "--bogus\u202e"}, call.StatusFailed, 125, "", `\u202e`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := calltest.NewServer(t)
			c := calltest.Dial(t, s)
			c.Env = []string{"HOSTEXEC_JSON=1", "HOSTEXEC_JSON=0"}
			c.Exec(t, wire.FDNull, tt.args...)
			c.Read(t, wire.KindExit)
			first, last, ok := strings.Cut(strings.TrimSuffix(c.Exit.Text, "\n"), "\n")
			var got struct {
				Status                      call.Status
				Code                        byte
				Reason, Rule, Request, Hint *string
			}
			if err := json.Unmarshal([]byte(last), &got); err != nil || !ok || !strings.HasPrefix(first, "hostexec: ") {
				t.Fatalf("text = %q, %v", c.Exit.Text, err)
			}
			if got.Reason == nil || got.Rule == nil || got.Request == nil || got.Hint == nil {
				t.Fatalf("a field is missing: %s", last)
			}
			if got.Status != tt.status || got.Code != tt.code || c.Exit.Code != tt.code || *got.Rule != tt.rule || !strings.Contains(*got.Reason, tt.reason) {
				t.Errorf("%s, code %d", last, c.Exit.Code)
			}
			if known := tt.status != call.StatusFailed; known != (len(*got.Request) == 16) || !strings.Contains(first, *got.Reason) || !strings.Contains(first, *got.Hint) {
				t.Errorf("%s, and the line is %s", last, first)
			}
		})
	}
	// The command's own end is its own.
	s, _ := calltest.NewServer(t)
	c := calltest.Dial(t, s)
	c.Env = []string{"HOSTEXEC_JSON=1"}
	c.Exec(t, wire.FDNull, "sh", "-c", "exit 126")
	c.Read(t, wire.KindExit)
	if c.Exit.Outcome != wire.Exited || c.Exit.Code != 126 || c.Exit.Text != "" {
		t.Errorf("exit = %+v", c.Exit)
	}
}

// A grant lets the same call run unasked, and the log says which grant it was.
func TestGranted(t *testing.T) {
	s, log := calltest.NewServer(t)
	defer s.Queue.AddApprover()()
	changed := s.Queue.Changed()
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "git", "push")
	<-changed
	q := s.Queue.Pending()[0]
	if err := s.Queue.Grant(q.ID, q.Digest(), q.Waiting, "ann", approval.Terms{Times: 2}); err != nil {
		t.Fatal(err)
	}
	c.Read(t, wire.KindExit)
	grant := s.Queue.Grants()[0]
	c = calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "git", "push")
	c.Read(t, wire.KindExit)
	if !c.Started || c.Exit.Code != 0 {
		t.Errorf("the granted call: %+v", c.Exit)
	}
	lines := calltest.Audited(t, log, grant.ID) // in the records of who made it, and of who used it
	if len(lines) != 2 || !strings.Contains(lines[0], `user="ann" grant="`+grant.ID+` for this number of calls: 2"`) || !strings.Contains(lines[1], `user="grant `+grant.ID+`"`) {
		t.Errorf("the log says %q", lines)
	}
	if n := len(calltest.Audited(t, log, "HOSTEXEC REQUEST")); n != 1 {
		t.Errorf("%d were asked, want the first alone", n)
	}
}

// waiting returns a caller whose question waits in the queue of s, and leave, which breaks its connection and returns
// when its call has ended.
func waiting(t *testing.T, s *call.Server) (c *calltest.Caller, leave func()) {
	t.Helper()
	ours, theirs := net.Pipe()
	changed, served := s.Queue.Changed(), make(chan struct{})
	// ends when ours is closed.
	go func() { defer close(served); s.Serve(context.Background(), context.Background(), theirs) }()
	c = &calltest.Caller{Conn: ours, Cwd: "/"}
	c.Exec(t, wire.FDNull, "git", "push")
	<-changed
	return c, func() { ours.Close(); <-served }
}

// A caller is cut off while it waits, a person says yes, and the same call runs at once when
// it comes again. The log has the end of each request, and one START.
func TestCallerReturns(t *testing.T) {
	s, log := calltest.NewServer(t)
	s.Queue.Durable = true
	defer s.Queue.AddApprover()()
	_, leave := waiting(t, s)
	leave()
	all := s.Queue.Pending()
	if len(all) != 1 || all[0].Disconnected != 1 {
		t.Fatalf("pending %+v", all)
	}
	first := all[0]
	if err := s.Queue.Approve(first.ID, first.Digest(), first.Waiting, "ann"); err != nil {
		t.Fatal(err)
	}
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "git", "push")
	c.Read(t, wire.KindExit)
	if !c.Started || c.Exit.Outcome != wire.Exited || c.Exit.Code != 0 {
		t.Errorf("who came back: %+v", c.Exit)
	}
	kinds := decided(t, log)
	if got := strings.Join(kinds[first.ID], " "); got != "CANCEL" || len(kinds) != 2 {
		t.Errorf("the log has %v", kinds)
	}
	if lines := calltest.Audited(t, log, "HOSTEXEC APPROVE"); len(lines) != 1 || !strings.Contains(lines[0], `user="ann"`) || strings.Contains(lines[0], first.ID) {
		t.Errorf("the log says %q", lines)
	}
}

// TestCallerGone gives answers that hold for later calls to callers that have left and do not return: the log has them
// before such a call.
func TestCallerGone(t *testing.T) {
	for want, answer := range map[string]func(q *approval.Queue, a approval.Question) error{
		"APPROVE": func(q *approval.Queue, a approval.Question) error {
			return q.Grant(a.ID, a.Digest(), a.Waiting, "ann", approval.Terms{Always: true})
		},
		"DENY": func(q *approval.Queue, a approval.Question) error {
			return q.DenyAlways(a.ID, a.Digest(), "no", "ann")
		},
	} {
		s, log := calltest.NewServer(t)
		s.Queue.Durable = true
		defer s.Queue.AddApprover()()
		_, leave := waiting(t, s)
		leave()
		all := s.Queue.Pending()
		if err := answer(s.Queue, all[0]); err != nil {
			t.Fatal(err)
		}
		lines := calltest.Audited(t, log, "HOSTEXEC "+want)
		if len(lines) != 1 || !strings.Contains(lines[0], `user="ann"`) || !strings.Contains(lines[0], all[0].ID) {
			t.Errorf("the log says %q", lines)
		}
	}
}

// TestCallersGone checks that callers who have left leave little in memory, until their questions end, too.
//
// Attack 281.
func TestCallersGone(t *testing.T) {
	s, _ := calltest.NewServer(t)
	s.Queue.Durable = true
	defer s.Queue.AddApprover()()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	const callers, size = 30, 1 << 20
	var leave []func()
	for range callers {
		ours, theirs := net.Pipe()
		changed, served := s.Queue.Changed(), make(chan struct{})
		// ends when ours is closed.
		go func() { defer close(served); s.Serve(context.Background(), context.Background(), theirs) }()
		c := &calltest.Caller{Conn: ours, Cwd: "/", Env: []string{"A=" + strings.Repeat("x", size)}}
		c.Exec(t, wire.FDNull, "git", "push")
		<-changed
		leave = append(leave, func() { ours.Close(); <-served })
	}
	for _, end := range leave {
		end()
	}
	if all := s.Queue.Pending(); len(all) != 1 || all[0].Disconnected != callers {
		t.Fatalf("pending %+v", all)
	}
	if held := heap() - before; held > callers*size/4 {
		t.Errorf("%d callers that have left hold %d KiB", callers, held>>10)
	}
}

// ^C takes the request back, for good even where requests outlive their callers.
func TestInterrupted(t *testing.T) {
	s, log := calltest.NewServer(t)
	s.Queue.Durable = true
	defer s.Queue.AddApprover()()
	c, leave := waiting(t, s)
	c.Read(t, wire.KindNotice)
	c.Send(t, wire.KindSignal, wire.AppendSignal(nil, "INT"))
	leave()
	if all := s.Queue.Pending(); len(all) != 0 || len(calltest.Audited(t, log, "HOSTEXEC CANCEL")) != 1 {
		t.Errorf("pending %+v", all)
	}
}

// decided is what the log has of how a question ended.
func decided(t *testing.T, log string) (kinds map[string][]string) {
	t.Helper()
	kinds = map[string][]string{}
	for _, line := range calltest.Audited(t, log, " HOSTEXEC ") {
		_, rest, _ := strings.Cut(line, "HOSTEXEC ")
		kind, rest, _ := strings.Cut(rest, " ")
		_, rest, _ = strings.Cut(rest, "request=")
		id, _, _ := strings.Cut(rest, " ")
		if kind != "REQUEST" && kind != "COMPLETE" {
			kinds[id] = append(kinds[id], kind)
		}
	}
	return kinds
}

// Two thousand calls are each approved, denied, timed out and hung up at the same time. The log has one outcome of each
// call, and START only after APPROVE.
//
// Attack 148.
func TestAskRaces(t *testing.T) {
	const rounds = 2000
	s, log := calltest.NewServer(t)
	s.AdjustRefusals(1 << 20) // it is not about how many a person can be asked
	defer s.Queue.AddApprover()()
	const window = 400 * time.Microsecond
	s.Queue.Timeout = window * 3 / 4
	for i := range rounds {
		s.Queue.Durable = i%2 == 0
		ours, theirs := net.Pipe()
		var wg sync.WaitGroup
		changed := s.Queue.Changed()
		// ends when ours is closed, or the call is over.
		wg.Go(func() { s.Serve(context.Background(), context.Background(), theirs) })
		// ends when ours is closed.
		wg.Go(func() {
			for b := make([]byte, wire.MaxFrame); ; {
				if _, _, err := wire.ReadFrame(ours, b); err != nil {
					return
				}
			}
		})
		c := &calltest.Caller{Conn: ours, Cwd: "/"}
		c.Exec(t, wire.FDNull, "git", string(rune('a'+i%26)), strings.Repeat("x", i))
		<-changed
		tries := []func(){func() { ours.Close() }}
		for _, q := range s.Queue.Pending() { // one, or none
			tries = append(tries, func() { s.Queue.Approve(q.ID, q.Digest(), q.Waiting, "ann") }, func() { s.Queue.Deny(q.ID, q.Digest(), "", "ann") })
		}
		for _, try := range tries {
			// end soon: each tries one thing.
			wg.Go(func() {
				<-time.After(time.Duration(rand.Int64N(int64(window))))
				try()
			})
		}
		wg.Wait()
	}
	all := decided(t, log)
	if len(all) != rounds {
		t.Errorf("%d requests in the log, want %d", len(all), rounds)
	}
	ended := map[string]int{}
	for id, kinds := range all {
		got := strings.Join(kinds, " ")
		switch ended[got]++; got {
		case "DENY", "TIMEOUT", "CANCEL", "APPROVE START":
		default:
			t.Errorf("request %s: %s", id, got)
		}
	}
	t.Log(ended) // a race that one side always wins proves nothing
}
