// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// previewed is a session that asks before sh runs a script of its workspace, which gets the argument -n in a preview.
func previewed(t *testing.T) (s *call.Server, work, log string) {
	t.Helper()
	s, work, log = scripts(t, opened)
	sc := *s.Config()
	set := sc.Policy.Rules["sh"]
	set.Rules[0].Preview = []string{"-n"}
	sc.SandboxFor = func(_ context.Context, v *policy.Verdict, environ []string, _ func(string)) (*sandbox.Sandbox, []string, error) {
		if !v.Sandbox.ReadOnly {
			t.Errorf("the sandbox of a preview may write: %+v", v.Sandbox)
		}
		spec := sandbox.Spec{Paths: append([]sandbox.Path{{Name: work, Access: sandbox.Execute}}, sandbox.System...)}
		if self, err := os.Executable(); err == nil {
			spec.Paths = append(spec.Paths, sandbox.Path{Name: self, Access: sandbox.Execute})
		}
		confined, err := sandbox.Prepare(spec)
		return confined, environ, err
	}
	s.SetConfig(&sc)
	return s, work, log
}

func put(t *testing.T, work, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(work, "run.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPreview runs previews of scripts that a container wrote. Whatever they do, the question waits for a person, and
// is the same question.
//
// Attacks 270, 271.
func TestPreview(t *testing.T) {
	if sandbox.Supported() != nil { // TestNoPreview has what is done without it
		return
	}
	outside := filepath.Join(t.TempDir(), "outside")
	near, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	address := strings.Replace(near.Addr().String(), ":", "/", 1)
	for _, tt := range []struct{ name, script, output, problem string }{
		{"what it prints", `printf '%s\n' "$1"; echo error >&2; cat`, "-n\nerror\n", ""},
		{"failure", "echo no; exit 3", "no\n", "exit status 3"},
		{"signal", "kill -9 $$", "", "SIGKILL ended it"},
		{"escape codes", `printf '\033[2J\033]0;x\007\tfine\r\n'`, `"\x1b[2J\x1b]0;x\a\tfine\r"` + "\n", ""},
		{"too many lines", "seq 500", "\n200\n... 300 more lines are not shown\n", ""},
		{"a long line", "printf %05000d 0", strings.Repeat("0", 1000) + "... (5000 characters)\n", ""},
		{"no end", "trap '' TERM; echo begun; while :; do :; done", "begun\n", "it was ended after 5s"},
		{"no end of its output", "yes", "more lines are not shown", "it was ended after 5s"},
		{"a write into the workspace", "echo evil >made; mkdir d; mv run.sh gone; chmod 777 run.sh; : >>run.sh", "Permission denied", "exit status 2"},
		{"a write elsewhere", "echo evil >" + outside, "Permission denied", "exit status 2"},
		{"the network", "bash -c ': >/dev/tcp/" + address + "'", "Permission denied", "exit status 1"},
		{"processes that stay", "sleep 300 & (env -i setsid sleep 300 >/dev/null 2>&1 &)", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, work, log := previewed(t)
			defer s.Queue.AddApprover()()
			put(t, work, tt.script)
			c, q := askedAbout(t, s)
			p := q.Preview
			if p == nil || !strings.Contains(p.Output, tt.output) || p.Problem != tt.problem {
				t.Fatalf("preview %+v, want %q, %q", p, tt.output, tt.problem)
			}
			for _, left := range proctree.Sizes() {
				if left.Count > 0 {
					t.Errorf("processes are left: %+v", left)
				}
			}
			if list, err := os.ReadDir(work); err != nil || len(list) != 1 {
				t.Errorf("the workspace has %v, %v", list, err)
			}
			if _, err := os.Stat(outside); err == nil {
				t.Error("it wrote elsewhere")
			}
			bare := q
			bare.Preview = nil
			if bare.Digest() != q.Digest() || bare.ShownDigest() == q.ShownDigest() {
				t.Error("the preview is a part of the question's identity, or not of what was shown")
			}
			if got := calltest.Audited(t, log, "preview=-n"); len(got) != 1 || len(calltest.Audited(t, log, "START")) > 0 {
				t.Errorf("the log has %q", got)
			}
			if err := s.Queue.Deny(q.ID, q.ShownDigest(), "", "ann"); err != nil {
				t.Fatal(err)
			}
			if c.End(t).Code != 126 || c.Out.Len() > 0 {
				t.Errorf("the caller got %+v, %q", c.Exit, c.Out.String())
			}
		})
	}
}

// TestPreviewOnce checks that no preview runs for a second caller of a waiting question, or for a grant. An approval
// holds for the preview that was shown.
func TestPreviewOnce(t *testing.T) {
	if sandbox.Supported() != nil { // TestNoPreview has what is done without it
		return
	}
	s, work, log := previewed(t)
	leave := s.Queue.AddApprover()
	put(t, work, "date +%N")
	c, q := askedAbout(t, s)
	changed := s.Queue.Changed()
	again := calltest.Dial(t, s)
	again.Cwd = "/w"
	again.Exec(t, wire.FDNull, "sh", "run.sh")
	<-changed
	if all := s.Queue.Pending(); len(all) != 1 || len(all[0].Waiting) != 2 || all[0].Preview.Output != q.Preview.Output {
		t.Errorf("questions: %+v", all)
	}
	if err := s.Queue.Approve(q.ID, q.Digest(), q.Waiting, "ann"); err != approval.ErrChanged {
		t.Errorf("approved without the preview: %v", err)
	}
	q = s.Queue.Pending()[0]
	if err := s.Queue.Grant(q.ID, q.ShownDigest(), q.Waiting, "ann", approval.Terms{Always: true}); err != nil {
		t.Fatal(err)
	}
	c.End(t)
	again.End(t)
	leave()
	if r := callOnce(t, s, "sh", "run.sh"); r.Exit.Code != 0 {
		t.Errorf("with a grant: %+v", r.Exit)
	}
	if got := calltest.Audited(t, log, "preview="); len(got) != 1 {
		t.Errorf("previews in the log: %q, want 1", got)
	}
	if g := s.Queue.Grants(); len(g) != 1 || g[0].Question.Preview != nil {
		t.Errorf("grants %+v, want one without the preview", g)
	}
}

// TestPreviewEnds ends a preview by its caller, and by a policy that has changed.
func TestPreviewEnds(t *testing.T) {
	if sandbox.Supported() != nil { // TestNoPreview has what is done without it
		return
	}
	for name, end := range map[string]func(s *call.Server, c *calltest.Caller){
		"the caller leaves": func(_ *call.Server, c *calltest.Caller) { c.Conn.Close() },
		"a rule denies": func(s *call.Server, _ *calltest.Caller) {
			sc := *s.Config()
			r := policy.Rule{ID: "no", Do: policy.Deny, AnyArgs: true, Fixed: []string{"x"}}
			if err := r.Compile(); err != nil {
				t.Error(err)
			}
			sc.Policy = &policy.Policy{Rules: map[string]policy.Ruleset{"sh": {Exec: "/bin/sh", Rules: []policy.Rule{r}}}}
			s.SetConfig(&sc)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, work, log := previewed(t)
			defer s.Queue.AddApprover()()
			fifo := filepath.Join(work, "fifo")
			if err := calltest.MakeFIFO(fifo); err != nil {
				t.Fatal(err)
			}
			put(t, work, "exec 3<fifo; exec sleep 300")
			c := calltest.Dial(t, s)
			c.Cwd = "/w"
			c.Exec(t, wire.FDNull, "sh", "run.sh")
			reads, err := unix.Open(fifo, unix.O_WRONLY|unix.O_CLOEXEC, 0) // waits for the preview
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(reads)
			start := time.Now()
			end(s, c)
			for {
				_, err := unix.Poll([]unix.PollFd{{Fd: int32(reads)}}, -1) // returns when no process reads
				if err != unix.EINTR {
					break
				}
			}
			if took := time.Since(start); took > 4*time.Second {
				t.Errorf("it took %s", took)
			}
			if name == "a rule denies" && c.End(t).Code != 126 {
				t.Errorf("the caller got %+v", c.Exit)
			}
			if len(s.Queue.Pending()) > 0 || len(calltest.Audited(t, log, "START")) > 0 {
				t.Errorf("it waits, or ran: %+v", s.Queue.Pending())
			}
		})
	}
}

// TestNoPreview checks that a question without a possible preview says so, and waits.
func TestNoPreview(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(sc *call.SessionConfig)
		want   string
	}{
		{"no sandbox", func(sc *call.SessionConfig) { sc.SandboxFor = nil }, "cannot confine"},
		{"in a container", func(sc *call.SessionConfig) {
			set := sc.Policy.Rules["sh"]
			set.Place.Image = "img"
			sc.Policy.Rules["sh"] = set
			sc.InContainer = func(policy.Place, string, string) (call.Runner, string, error) { return nil, "/w", nil }
		}, "runs in a container"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, work, log := previewed(t)
			put(t, work, "echo x")
			sc := *s.Config()
			tt.change(&sc)
			s.SetConfig(&sc)
			defer s.Queue.AddApprover()()
			c, q := askedAbout(t, s)
			if q.Preview == nil || !strings.Contains(q.Preview.Problem, tt.want) || len(calltest.Audited(t, log, "preview=")) > 0 {
				t.Errorf("preview %+v, want %q", q.Preview, tt.want)
			}
			c.Conn.Close()
		})
	}
}
