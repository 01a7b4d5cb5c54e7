// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// keeping is a scene in which sh may be kept.
func keeping(t *testing.T) *call.Server {
	t.Helper()
	s, _ := calltest.NewServer(t)
	sc := *s.Config()
	p := *sc.Policy
	p.Commands = append([]policy.Command{{Name: "sh", Action: policy.Allow, Path: "/bin/sh", Keep: true}}, p.Commands[1:]...)
	sc.Policy = &p
	s.SetConfig(&sc)
	return s
}

// startIn starts a job in a period of a session, and returns its id.
func startIn(t *testing.T, s *call.Server, session, period context.Context, words ...string) string {
	t.Helper()
	ours, theirs := net.Pipe()
	var wg sync.WaitGroup
	// ends when ours is closed.
	wg.Go(func() { s.Serve(session, period, theirs) })
	defer wg.Wait()
	defer ours.Close()
	c := &calltest.Caller{Conn: ours, Cwd: "/"}
	c.Exec(t, wire.FDNull, append([]string{"hostexec", "-d"}, words...)...)
	c.Read(t, wire.KindExit)
	id, _, _ := strings.Cut(c.Out.String(), " ")
	if len(id) != 16 {
		t.Fatalf("hostexec -d %q: stdout %q, exit %+v", words, c.Out.String(), c.Exit)
	}
	return id
}

// What is kept outlives the period, and ends with the session; all else does not.
func TestJobKept(t *testing.T) {
	s := keeping(t)
	session, die := context.WithCancelCause(context.Background())
	period, over := context.WithCancelCause(session)
	hold, gone := calltest.Alive(t)
	kept := startIn(t, s, session, period, "--keep", "sh", "-c", hold+"setsid sleep 1000 & wait")
	other := startIn(t, s, session, period, "sh", "-c", "exec sleep 1000")
	if got := s.Jobs.Kept(); len(got) != 1 || got[0].Info().ID != kept {
		t.Errorf("%d jobs are kept", len(got))
	}
	over(errors.New("over"))
	j, err := s.Jobs.Find(other)
	if err != nil {
		t.Fatal(err)
	}
	<-j.Done()
	if got := calltest.InfoOf(t, s, kept); got.Status != job.Running || !got.Keep {
		t.Errorf("after the period: %+v", got)
	}
	die(errors.New("stopped"))
	s.Wait()
	gone()
	if got := calltest.InfoOf(t, s, kept); got.Status != job.Killed {
		t.Errorf("at the end: %+v", got)
	}
}

// What is not said to may not be kept, but a person who is asked may say so.
func TestJobMayBeKept(t *testing.T) {
	s, _ := calltest.NewServer(t)
	c := calltest.Hostexec(t, s, "-d", "--keep", "sh", "-c", "exec sleep 1000")
	if c.Exit.Code != 126 || !strings.Contains(c.Exit.Text, "--keep: no rule allows this job to outlive its container") {
		t.Errorf("%+v", c.Exit)
	}
	if n := len(s.Jobs.All()); n != 0 {
		t.Errorf("%d jobs", n)
	}
	defer s.Queue.AddApprover()()
	changed := s.Queue.Changed()
	c = calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "hostexec", "-d", "--keep", "git", "push")
	<-changed
	q := s.Queue.Pending()[0]
	if len(q.Notes) != 1 || !strings.Contains(q.Notes[0], "also after the container has ended") {
		t.Errorf("notes = %q", q.Notes)
	}
	if err := s.Queue.Approve(q.ID, q.Digest(), q.Waiting, "ann"); err != nil {
		t.Fatal(err)
	}
	if c.Read(t, wire.KindExit); c.Exit.Code != 0 {
		t.Errorf("%+v", c.Exit)
	}
}
