// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// A job that ends before it is ready shows why; one that is not ready in time is ended.
func TestJobUnready(t *testing.T) {
	s, _ := scene(t)
	for _, tt := range []struct {
		words []string
		code  byte
		text  string
	}{
		{[]string{"--wait-for-log", "up", "sh", "-c", "echo no luck; exit 4"}, 4, "exit code 4"},
		{[]string{"--wait-for-log", "up", "sh", "-c", "printf 'no luck'"}, 1, "exit code 0"},
		{[]string{"--wait-for-port", "1", "sh", "-c", "echo no luck >&2; kill -KILL $$"}, 137, "signal KILL"},
		{[]string{"--wait-for-log", "up", "--wait-timeout", "50ms", "sh", "-c", "echo no luck; exec sleep 1000"}, 124, "not ready within 50ms"},
		{[]string{"--wait-for-log", "up", "--timeout", "50ms", "sh", "-c", "echo no luck; exec sleep 1000"}, 124, "timeout"},
	} {
		c := hostexec(t, s, append([]string{"-d"}, tt.words...)...)
		if c.exit.Code != tt.code || c.out.Len() > 0 || !strings.Contains(c.exit.Text, tt.text) || !strings.HasSuffix(c.err.String(), "no luck\n") && tt.code != 124 {
			t.Errorf("%q: stdout %q, stderr %q, %+v", tt.words, c.out.String(), c.err.String(), c.exit)
		}
	}
	for _, kept := range s.Jobs.All() {
		if info := kept.Info(); info.Status == job.Running {
			t.Errorf("%v still runs", info.Args)
		}
	}
}

// A port counts when the job's own tree listens on it, not when anybody does.
func TestJobPort(t *testing.T) {
	s, _ := scene(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	c := hostexec(t, s, "-d", "--wait-for-port", port, "--wait-timeout", "200ms", "sh", "-c", "exec sleep 1000")
	if c.exit.Code != 124 {
		t.Errorf("somebody else's port: %+v", c.exit)
	}
	id := background(t, s, "sh", "-c", "exec sleep 1000")
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
	s, _ := scene(t)
	hold, gone := alive(t)
	session, end := context.WithCancelCause(context.Background())
	ours, theirs := net.Pipe()
	var wg sync.WaitGroup
	// ends when ours is closed.
	wg.Go(func() { s.Serve(session, session, theirs) })
	c := &caller{conn: ours, cwd: "/"}
	c.exec(t, wire.FDNull, "hostexec", "-d", "--wait-for-log", "never", "sh", "-c", hold+"setsid sleep 1000 & wait")
	for len(s.Running()) == 0 { // nobody is told of it yet
		time.Sleep(time.Millisecond)
	}
	ours.Close()
	wg.Wait()
	gone()

	hold, gone = alive(t)
	ours, theirs = net.Pipe()
	wg.Go(func() { s.Serve(session, session, theirs) })
	c = &caller{conn: ours, cwd: "/"}
	c.exec(t, wire.FDNull, "hostexec", "-d", "--wait-for-log", "up", "sh", "-c", hold+"setsid sleep 1000 & echo up; wait")
	c.read(t, wire.KindExit)
	ours.Close()
	wg.Wait()
	id, _, _ := strings.Cut(c.out.String(), " ")
	if got := infoOf(t, s, id).Status; got != job.Running {
		t.Errorf("after the caller has gone it is %s", got)
	}
	end(errors.New("over"))
	s.Wait()
	gone()
	if got := infoOf(t, s, id); got.Status != job.Killed || got.Reason != "the session ended" {
		t.Errorf("after the session: %+v", got)
	}
}
