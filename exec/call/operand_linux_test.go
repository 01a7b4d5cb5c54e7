// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// reading returns a server whose container may call cat, echo and ls with one argument, which path describes. work is
// the directory that the container mounts as /w, and log is the audit log.
func reading(t *testing.T, path policy.Element) (s *call.Server, work, log string) {
	t.Helper()
	s, log = calltest.NewServer(t)
	work = t.TempDir()
	calltest.Mount(t, s, mount.Default{}, mount.Point{Target: "/w", Source: work, Bind: true})
	path.Kind, path.Min, path.Max = policy.KindPath, 1, 10
	r := policy.Rule{ID: "f", Do: policy.Allow, Accept: true, Argv: []policy.Element{path}}
	if err := r.Compile(); err != nil {
		t.Fatal(err)
	}
	sc := *s.Config()
	sc.Scratch = filepath.Join(t.TempDir(), "scratch")
	sc.Policy = &policy.Policy{Rules: map[string]policy.Ruleset{
		"cat": {Exec: "/bin/cat", Rules: []policy.Rule{r}}, "echo": {Exec: "/bin/echo", Rules: []policy.Rule{r}}, "ls": {Exec: "/bin/ls", Rules: []policy.Rule{r}},
	}}
	s.SetConfig(&sc)
	return s, work, log
}

func callOnce(t *testing.T, s *call.Server, args ...string) *calltest.Caller {
	t.Helper()
	c := calltest.Dial(t, s)
	c.Cwd = "/w"
	c.Exec(t, wire.FDNull, args...)
	c.Read(t, wire.KindExit)
	c.Conn.Close()
	return c
}

// TestOperandExchange exchanges a file with a link to a secret of the host between the check and
// the use. The command reads a copy of the checked file. The test fails if the race never happened.
//
// Attack 84.
func TestOperandExchange(t *testing.T) {
	for _, typ := range []policy.FileType{policy.TypeFile, policy.TypeAny} {
		t.Run(string(typ), func(t *testing.T) {
			s, work, _ := reading(t, policy.Element{Type: typ})
			secret := filepath.Join(t.TempDir(), "secret")
			err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.WriteFile(filepath.Join(work, "file"), []byte("mine"), 0o600), os.Symlink(secret, filepath.Join(work, "link")))
			if err != nil {
				t.Fatal(err)
			}
			dirtest.Exchange(t, filepath.Join(work, "file"), filepath.Join(work, "link"))
			read, refused, leaked := 0, 0, 0
			for read < 200 || refused == 0 {
				switch c := callOnce(t, s, "cat", "file"); {
				case strings.Contains(c.Out.String(), "secret"):
					leaked++
				case c.Exit.Code == 0 && c.Out.String() == "mine":
					read++
				case c.Exit.Code == 126:
					refused++
				default:
					t.Errorf("code %d, %q", c.Exit.Code, c.Out.String())
				}
			}
			if t.Logf("%d read, %d refused, %d leaked", read, refused, leaked); leaked > 0 {
				t.Errorf("%d of %d calls read the host's file", leaked, read+leaked)
			}
		})
	}
}

// TestOperandCopies checks which operands are copied, and the names of the copies.
//
// Attack 84.
func TestOperandCopies(t *testing.T) {
	for _, tt := range []struct {
		name    string
		path    policy.Element
		operand string
		want    string // of the argument: copy, name, or refused
	}{
		{"a file", policy.Element{Type: policy.TypeFile}, "notes.txt", "copy"},
		{"any, a file", policy.Element{Type: policy.TypeAny}, "notes.txt", "copy"},
		{"any, a directory", policy.Element{Type: policy.TypeAny}, "sub", "name"},
		{"a directory", policy.Element{Type: policy.TypeDir}, "sub", "name"},
		{"a file, copied", policy.Element{Type: policy.TypeFile, Snapshot: policy.SnapshotAll}, "notes.txt", "copy"},
		{"any, copied, a directory", policy.Element{Type: policy.TypeAny, Snapshot: policy.SnapshotAll}, "sub", "refused"},
		{"a file, by name", policy.Element{Type: policy.TypeFile, Snapshot: policy.SnapshotNone}, "notes.txt", "name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, work, log := reading(t, tt.path)
			name := tt.operand
			if err := errors.Join(os.WriteFile(filepath.Join(work, "notes.txt"), nil, 0o600), os.Mkdir(filepath.Join(work, "sub"), 0o700)); err != nil {
				t.Fatal(err)
			}
			c := callOnce(t, s, "echo", name)
			if lines := calltest.Audited(t, log, "HOSTEXEC COMPLETE"); tt.want != "refused" && (len(lines) != 1 || !strings.Contains(lines[0], `cmd="echo `+name+`"`)) {
				t.Errorf("the log has the end %q", lines)
			}
			got, out := "refused", strings.TrimSpace(c.Out.String())
			switch {
			case out == name:
				got = "name"
			case strings.HasPrefix(out, s.Config().Scratch+"/") && strings.HasSuffix(out, "/1/"+name):
				got = "copy"
			}
			if got != tt.want {
				t.Errorf("%s: %q, code %d: %s, want %s", name, out, c.Exit.Code, got, tt.want)
			}
			if again := strings.TrimSpace(callOnce(t, s, "echo", name).Out.String()); again != out {
				t.Errorf("the same call has other arguments: %q, then %q", out, again)
			}
			if err := os.WriteFile(filepath.Join(work, "notes.txt"), []byte("other"), 0o600); err != nil {
				t.Fatal(err)
			}
			if other := strings.TrimSpace(callOnce(t, s, "echo", name).Out.String()); tt.want == "copy" && other == out {
				t.Errorf("a copy of something else has the same name: %q", other)
			}
		})
	}
}

// TestOperandOneQuestion makes two calls with the same file at the same time. Each has its own copy, but they make one
// question. A grant covers both, and a third call while they run. After a change of the file, a call asks again.
func TestOperandOneQuestion(t *testing.T) {
	s, work, _ := scripts(t, copied)
	defer s.Queue.AddApprover()()
	gate, script := filepath.Join(work, "gate"), filepath.Join(work, "run.sh")
	if err := errors.Join(calltest.MakeFIFO(gate), os.WriteFile(script, []byte("read line <gate; echo $0\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	first, _ := askedAbout(t, s)
	second, q := askedAbout(t, s)
	if all := s.Queue.Pending(); len(all) != 1 || len(q.Waiting) != 2 || strings.Join(q.Named(), " ") != "sh run.sh" {
		t.Fatalf("%d questions wait, the first for %d callers: %q", len(all), len(q.Waiting), q.Named())
	}
	if err := s.Queue.Grant(q.ID, q.ShownDigest(), q.Waiting, "ann", approval.Terms{Always: true}); err != nil {
		t.Fatal(err)
	}
	third := calltest.Dial(t, s)
	third.Cwd = "/w"
	third.Exec(t, wire.FDNull, "sh", "run.sh")
	third.Read(t, wire.KindStarted)
	open, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := open.WriteString("1\n2\n3\n"); err != nil {
		t.Fatal(err)
	}
	var ran []string
	for _, c := range []*calltest.Caller{first, second, third} {
		c.Read(t, wire.KindExit)
		ran = append(ran, c.Out.String())
	}
	if slices.Sort(ran); len(slices.Compact(ran)) != 3 || ran[0] == "" {
		t.Errorf("the calls ran %q, want three copies", ran)
	}
	if err := os.WriteFile(script, []byte("echo evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := askedAbout(t, s)
	c.Conn.Close()
}

// TestOperandMissing calls with a file that is not there: the call is refused, and the program is not said to be
// missing.
func TestOperandMissing(t *testing.T) {
	s, _, _ := reading(t, policy.Element{Type: policy.TypeFile})
	for _, name := range []string{"none", "/etc/passwd"} {
		if c := callOnce(t, s, "cat", name); c.Exit.Code != 126 || !strings.Contains(c.Exit.Text, "hostexec: cat: argument \""+name+"\": ") {
			t.Errorf("%s: code %d, %q", name, c.Exit.Code, c.Exit.Text)
		}
	}
}
