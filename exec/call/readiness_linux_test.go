// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A job that ends before it is ready shows why; one that is not ready in time is ended.
func TestJobUnready(t *testing.T) {
	s, _ := calltest.NewServer(t)
	for _, tt := range []struct {
		words []string
		code  byte
		text  string
	}{
		{[]string{"--wait-for-log", "up", "sh", "-c", "echo no luck; exit 4"}, 4, "exit code 4"},
		{[]string{"--wait-for-log", "up", "sh", "-c", "printf 'no luck'"}, 1, "exit code 0"},
		{[]string{"--wait-for-port", "1", "sh", "-c", "echo no luck >&2; kill -KILL $$"}, 137, "signal KILL"},
		{[]string{"--wait-for-log", "up", "--wait-timeout", "50ms", "sh", "-c", "echo no luck; exec sleep 1000"}, 124, "not ready within 50ms"},
		{[]string{"--wait-for-log", "up", "--timeout", "1s", "sh", "-c", "echo no luck; exec sleep 1000"}, 124, "timeout"},
	} {
		c := calltest.Hostexec(t, s, append([]string{"-d"}, tt.words...)...)
		if c.Exit.Code != tt.code || c.Out.Len() > 0 || !strings.Contains(c.Exit.Text, tt.text) || !strings.HasSuffix(c.Err.String(), "no luck\n") && tt.code != 124 {
			t.Errorf("%q: stdout %q, stderr %q, %+v", tt.words, c.Out.String(), c.Err.String(), c.Exit)
		}
	}
	all := s.Jobs.All()
	if len(all) != 5 {
		t.Errorf("%d jobs are listed, want 5", len(all))
	}
	for _, kept := range all {
		if info := kept.Info(); info.Status == job.Running {
			t.Errorf("%v still runs", info.Args)
		}
	}
}

// A port counts when the job's own tree listens on it, not when anybody does.
func TestJobPort(t *testing.T) {
	s, _ := calltest.NewServer(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	c := calltest.Hostexec(t, s, "-d", "--wait-for-port", port, "--wait-timeout", "200ms", "sh", "-c", "exec sleep 1000")
	if c.Exit.Code != 124 {
		t.Errorf("somebody else's port: %+v", c.Exit)
	}
	id := calltest.Background(t, s, "sh", "-c", "exec sleep 1000")
	kept, err := s.Jobs.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, _ := strconv.Atoi(port); !errors.Is(kept.AwaitPort(ctx, uint16(n)), context.Canceled) {
		t.Error("AwaitPort of another's port returned")
	}
}

// Until its caller has been told of it a job ends with its caller; then with the session.
func TestJobHangUp(t *testing.T) {
	s, _ := calltest.NewServer(t)
	hold, gone := calltest.Alive(t)
	session, end := context.WithCancelCause(context.Background())
	ours, theirs := net.Pipe()
	var wg sync.WaitGroup
	// ends when ours is closed.
	wg.Go(func() { s.Serve(session, session, theirs) })
	c := &calltest.Caller{Conn: ours, Cwd: "/"}
	c.Exec(t, wire.FDNull, "hostexec", "-d", "--wait-for-log", "never", "sh", "-c", hold+"setsid sleep 1000 & wait")
	exectest.Eventually(t, "it runs, and nobody is told of it yet", func() bool {
		all := s.Running()
		return len(all) > 0 && all[0].PID != 0
	})
	ours.Close()
	wg.Wait()
	gone()

	hold, gone = calltest.Alive(t)
	ours, theirs = net.Pipe()
	wg.Go(func() { s.Serve(session, session, theirs) })
	c = &calltest.Caller{Conn: ours, Cwd: "/"}
	c.Exec(t, wire.FDNull, "hostexec", "-d", "--wait-for-log", "up", "sh", "-c", hold+"setsid sleep 1000 & echo up; wait")
	c.Read(t, wire.KindExit)
	ours.Close()
	wg.Wait()
	id, _, _ := strings.Cut(c.Out.String(), " ")
	if got := calltest.InfoOf(t, s, id).Status; got != job.Running {
		t.Errorf("after the caller has gone it is %s", got)
	}
	end(errors.New("over"))
	s.Wait()
	gone()
	if got := calltest.InfoOf(t, s, id); got.Status != job.Killed || got.Reason != "the session ended" {
		t.Errorf("after the session: %+v", got)
	}
}

// placedElsewhere has sh run in a container, by run.
func placedElsewhere(s *call.Server, run call.Runner) {
	sc := *s.Config()
	sc.Policy = &policy.Policy{Commands: []policy.Command{{Name: "sh", Action: policy.Allow, Path: "/bin/sh", Placed: true, Place: policy.Place{Image: "img"}}}}
	sc.InContainer = func(policy.Place, string, string) (call.Runner, string, error) { return run, "/", nil }
	s.SetConfig(&sc)
}

// TestJobPortInContainer checks that a job in a container is refused if its caller waits for a port. The host does not
// see its processes: the job was ended when the time was up, although it listened.
func TestJobPortInContainer(t *testing.T) {
	s, log := calltest.NewServer(t)
	placedElsewhere(s, s.Runner)
	for _, words := range [][]string{{"--wait-for-port", "80"}, {"--wait-for-log", "up", "--wait-for-port", "80"}} {
		c := calltest.Hostexec(t, s, append(append([]string{"-d", "--wait-timeout", "100ms"}, words...), "sh", "-c", "echo up; exec sleep 1000")...)
		if c.Exit.Code != 126 || !strings.Contains(c.Exit.Text, "sh: --wait-for-port does not see ports of where=container") {
			t.Errorf("%q: %+v", words, c.Exit)
		}
	}
	if len(s.Jobs.All()) > 0 || len(calltest.Audited(t, log, "START")) > 0 {
		t.Errorf("jobs %v, or commands, were started", s.Jobs.All())
	}
	if c := calltest.Hostexec(t, s, "-d", "--wait-for-log", "up", "sh", "-c", "echo up; exec sleep 1000"); c.Exit.Code != 0 {
		t.Errorf("--wait-for-log: %+v", c.Exit)
	}
	calltest.Hostexec(t, s, "kill", "--all")
}

// failing is a runner that cannot start a command. It says so only after it has sent a value.
type failing struct {
	starting chan struct{}
	err      error
}

func (f failing) Run(ctx context.Context, _ executor.Command, _ executor.Streams) (executor.Status, error) {
	select {
	case f.starting <- struct{}{}:
	case <-ctx.Done():
	}
	return executor.Status{}, f.err
}

// TestJobNotStarted checks that a job that cannot be started ends with the code of its caller for those who wait for it
// already. They got 0. A container takes seconds to start.
func TestJobNotStarted(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code int
	}{
		{"not in the image", fs.ErrNotExist, 127},
		{"not executable", fs.ErrPermission, 126},
		{"another reason", errors.New("no such image"), 125},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := calltest.NewServer(t)
			run := failing{make(chan struct{}), tt.err}
			placedElsewhere(s, run)
			c := calltest.Dial(t, s)
			c.Exec(t, wire.FDNull, "hostexec", "-d", "sh")
			exectest.Eventually(t, "the job is there", func() bool { return len(s.Jobs.All()) == 1 })
			waited := s.Jobs.All()[0]
			<-run.starting
			<-waited.Done()
			if got := waited.Info(); got.Code != tt.code || got.Status != job.Error || got.Reason == "" {
				t.Errorf("the job is %+v, want code %d", got, tt.code)
			}
			if e := c.End(t); int(e.Code) != tt.code {
				t.Errorf("the caller is told %+v, want %d", e, tt.code)
			}
		})
	}
}
