// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// capturing is the policy of a rule that has stdin read first, all of it.
func capturing(t *testing.T, do policy.Action) *policy.Policy {
	t.Helper()
	r := policy.Rule{ID: "in", Do: do, Accept: true, Argv: []policy.Element{{Kind: policy.KindWord, Words: []string{"-s"}}}}
	r.Settings.Stdin = &policy.Stdin{Mode: policy.StdinCapture, Limit: 1 << 10}
	if err := r.Compile(); err != nil {
		t.Fatal(err)
	}
	return &policy.Policy{Rules: map[string]policy.Ruleset{"sh": {Exec: "/bin/sh", Rules: []policy.Rule{r}}}}
}

// repolicy changes the policy of a server, as an edited configuration does.
func repolicy(s *call.Server, p *policy.Policy) {
	sc := *s.Config()
	sc.Policy = p
	s.SetConfig(&sc)
}

// TestCaptureNeverEnds makes calls whose stdin never ends or is without end. The first block no
// others and end with their callers; the second are refused.
//
// Attack 71.
func TestCaptureNeverEnds(t *testing.T) {
	s, log := calltest.NewServer(t)
	repolicy(s, capturing(t, policy.Allow))
	var silent []*calltest.Caller
	for range 50 {
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDFile, "sh", "-s")
		c.Read(t, wire.KindCapture)
		c.Send(t, wire.KindStdin, []byte("echo ran"))
		c.Drain()
		silent = append(silent, c)
	}
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDFile, "sh", "-s")
	c.Read(t, wire.KindCapture)
	c.Send(t, wire.KindStdin, []byte("echo called"))
	c.Send(t, wire.KindStdinEOF, nil)
	c.Read(t, wire.KindExit)
	if c.Out.String() != "called\n" {
		t.Errorf("a call beside them: %q, %+v", c.Out.String(), c.Exit)
	}
	c = calltest.Dial(t, s)
	c.Exec(t, wire.FDFile, "sh", "-s")
	c.Read(t, wire.KindCapture)
	c.Send(t, wire.KindStdin, []byte(strings.Repeat("x", 1<<10+1)))
	c.Read(t, wire.KindExit)
	if c.Exit.Code != 126 || !strings.Contains(c.Exit.Text, "stdin has more than 1024 bytes") {
		t.Errorf("without end: %+v", c.Exit)
	}
	for _, c := range silent {
		c.Conn.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); len(calltest.Audited(t, log, "the caller went away")) < len(silent); {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d have ended", len(calltest.Audited(t, log, "the caller went away")), len(silent))
		}
	}
	if n := len(calltest.Audited(t, log, "HOSTEXEC START")); n != 1 {
		t.Errorf("%d ran, want 1", n)
	}
}

// TestCaptureOutlastsPolicy holds stdin back until the policy has changed. What was allowed
// when the call came is decided again when its stdin has.
//
// Attacks 71, 157.
func TestCaptureOutlastsPolicy(t *testing.T) {
	for action, code := range map[policy.Action]byte{policy.Allow: 0, policy.Ask: 126, policy.Deny: 126} {
		s, log := calltest.NewServer(t)
		repolicy(s, capturing(t, policy.Allow))
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDFile, "sh", "-s")
		c.Read(t, wire.KindCapture)
		repolicy(s, capturing(t, action))
		c.Send(t, wire.KindStdin, []byte("exit 0"))
		c.Send(t, wire.KindStdinEOF, nil)
		c.Read(t, wire.KindExit)
		if started := len(calltest.Audited(t, log, "HOSTEXEC START")) > 0; c.Exit.Code != code || started != (code == 0) {
			t.Errorf("%s by now: %+v, started %v", action, c.Exit, started)
		}
	}
}

// TestGrantIsForItsInput: another stdin, and another environment where the container may
// say any of it, is another question, and no grant is for it.
//
// Attacks 71, 187.
func TestGrantIsForItsInput(t *testing.T) {
	s, _ := calltest.NewServer(t)
	p := capturing(t, policy.Ask)
	p.Commands = []policy.Command{{Name: "git", Action: policy.Ask, Path: "/bin/true"}}
	sc := *s.Config()
	sc.Policy, sc.PassEnv = p, []string{"TARGET", "OTHER"}
	s.SetConfig(&sc)
	defer s.Queue.AddApprover()()
	ask := func(env, stdin string, args ...string) approval.Question {
		t.Helper()
		changed := s.Queue.Changed()
		c := calltest.Dial(t, s)
		c.Env = []string{env, "SECRET=no"}
		fd := wire.FDNull
		if stdin != "" {
			fd = wire.FDFile
		}
		c.Exec(t, fd, args...)
		if stdin != "" {
			c.Read(t, wire.KindCapture)
			c.Send(t, wire.KindStdin, []byte(stdin))
			c.Send(t, wire.KindStdinEOF, nil)
		}
		c.Drain()
		<-changed
		all := s.Queue.Pending()
		return all[len(all)-1]
	}
	var digests []string
	for _, tt := range []struct{ env, stdin, note string }{
		{"TARGET=test", "", "the container sets TARGET=test"}, {"TARGET=prod", "", "the container sets TARGET=prod"},
	} {
		q := ask(tt.env, tt.stdin, "git", "push")
		if !slices.Equal(q.Notes, []string{tt.note}) {
			t.Errorf("the notes are %q, want %q", q.Notes, tt.note)
		}
		digests = append(digests, q.Digest())
	}
	for _, stdin := range []string{"id", "rm -rf ~"} {
		q := ask("X=y", stdin, "sh", "-s")
		if len(q.Notes) != 1 || !strings.Contains(q.Notes[0], `"`+stdin+`"`) {
			t.Errorf("the notes are %q, want %q", q.Notes, stdin)
		}
		digests = append(digests, q.Digest())
	}
	slices.Sort(digests)
	if n := len(slices.Compact(digests)); n != 4 || len(s.Queue.Pending()) != 4 {
		t.Errorf("%d digests, %d questions, want 4", n, len(s.Queue.Pending()))
	}
	first := s.Queue.Pending()[0]
	if err := s.Queue.Grant(first.ID, first.Digest(), first.Waiting, "ann", approval.Terms{Always: true}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Queue.Granted(s.Queue.Pending()[0]); ok || err != nil {
		t.Errorf("a grant for TARGET=test is one for TARGET=prod: %v", err)
	}
}

// TestCopiesAreLimited makes calls with operands of the maximum size repeatedly. The copies never exceed the limit of
// the session, and all of the limit is free again afterwards.
//
// Attack 185.
func TestCopiesAreLimited(t *testing.T) {
	s, _ := calltest.NewServer(t)
	work := t.TempDir()
	calltest.Mount(t, s, mount.Default{}, mount.Point{Target: "/", Source: work, Bind: true})
	for name, size := range map[string]int64{"large": call.MaxCopy, "larger": call.MaxCopy + 1, "huge": 10 << 30} {
		if err := errors.Join(os.WriteFile(filepath.Join(work, name), nil, 0o600), os.Truncate(filepath.Join(work, name), size)); err != nil {
			t.Fatal(err)
		}
	}
	r := policy.Rule{ID: "f", Do: policy.Allow, Accept: true, Argv: []policy.Element{{Kind: policy.KindPath, Type: policy.TypeFile, Snapshot: policy.SnapshotAll, Min: 1, Max: 10}}}
	if err := r.Compile(); err != nil {
		t.Fatal(err)
	}
	sc := *s.Config()
	sc.Scratch = filepath.Join(t.TempDir(), "scratch")
	sc.Policy = &policy.Policy{Rules: map[string]policy.Ruleset{"true": {Exec: "/bin/true", Rules: []policy.Rule{r}}}}
	s.SetConfig(&sc)
	for _, tt := range []struct {
		operands string
		code     byte
	}{{"larger", 126}, {"huge", 126}, {"large large large large large", 126}, {"large", 0}} {
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDNull, append([]string{"true"}, strings.Fields(tt.operands)...)...)
		c.Read(t, wire.KindExit)
		if c.Exit.Code != tt.code {
			t.Errorf("%s: %+v, want %d", tt.operands, c.Exit, tt.code)
		}
		c.Conn.Close()
		for deadline := time.Now().Add(10 * time.Second); call.Copied(s) != 0 && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		left, err := os.ReadDir(sc.Scratch)
		if n := call.Copied(s); n != 0 || len(left) != 0 || err != nil {
			t.Errorf("%s: %d bytes are held, %v is left, %v", tt.operands, n, left, err)
		}
	}
}

// TestRejectedCallerNeverReads has a caller send an invalid request and not read the error. The
// session's end does not wait for it.
//
// Attack 161.
func TestRejectedCallerNeverReads(t *testing.T) {
	s, _ := calltest.NewServer(t)
	near, far := net.Pipe() // who writes to it waits for its reader
	defer far.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	// ends with ctx.
	go func() { ended <- s.Serve(ctx, ctx, near) }()
	if _, err := far.Write(wire.AppendHeader(nil, wire.KindExec, wire.MaxExec+1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, call.ErrNoRequest) {
		t.Errorf("Serve: %v, want %v", err, call.ErrNoRequest)
	}
}
