// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Attacks 73, 74, 77, 78, 79, 80, 81.
func TestEnviron(t *testing.T) {
	host := []string{"PATH=/usr/bin", "HOME=/home/u", "TERM=dumb", "PWD=/elsewhere", "OLDPWD=/x", "TOKEN=secret"}
	caller := []string{
		"TERM=xterm-256color", "TERM=../../evil", "COLUMNS=80", "LINES=many", "PATH=/evil", "LD_PRELOAD=/evil.so",
		"GIT_SSH_COMMAND=evil", "WANTED=a=b", "WANTED=twice", "NO_COLOR=1", "junk", "=x",
	}
	got := environ(host, caller, []string{"WANTED", "ABSENT", "PATH"}, policy.Env{}, "/work")
	slices.Sort(got)
	want := []string{"COLUMNS=80", "HOME=/home/u", "NO_COLOR=1", "PATH=/usr/bin", "PWD=/work", "TERM=xterm-256color", "TOKEN=secret", "WANTED=a=b"}
	if !slices.Equal(got, want) {
		t.Errorf("environ = %q, want %q", got, want)
	}
	if got := environ(host, []string{"TERM=/etc/terminfo"}, nil, policy.Env{}, "/"); !slices.Contains(got, "TERM=dumb") {
		t.Errorf("a TERM that is a path replaced the host's: %q", got)
	}
	got = environ(append(host, "LC_ALL=C", "GH_TOKEN=t"), nil, nil, policy.Env{Clean: true, Pass: []string{"GH_TOKEN"}, Set: map[string]string{"A": ""}}, "/work")
	slices.Sort(got)
	if want := []string{"A=", "GH_TOKEN=t", "HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin", "PWD=/work"}; !slices.Equal(got, want) {
		t.Errorf("a clean environ = %q, want %q", got, want)
	}
}

// TestRefusedStdinIsReported checks that a caller is told when its stdin has data that the command
// does not get.
func TestRefusedStdinIsReported(t *testing.T) {
	for _, tt := range []struct {
		name    string
		fd      wire.FD
		streams policy.Streams
		want    bool
	}{
		{"a pipe", wire.FDPipe, policy.Streams{}, true},
		{"a file", wire.FDFile, policy.Streams{}, true},
		{"nothing", wire.FDNull, policy.Streams{}, false},
		{"a terminal", wire.FDTTY, policy.Streams{}, false},
		{"whole", wire.FDPipe, policy.Streams{Whole: true}, false},
		{"opened", wire.FDPipe, policy.Streams{Stdin: policy.Stdin{Mode: policy.StdinPipe}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &request{fds: [3]wire.FD{tt.fd}, passed: [3]int{-1, -1, -1}}
			req.restrictStreams(&policy.Verdict{Streams: tt.streams})
			e := req.explainMissingStdin(wire.Exit{Outcome: wire.Exited})
			if got := e.Consumed >= wire.Withheld && e.Text != ""; got != tt.want {
				t.Errorf("withheld = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestPromptHint says why a prompt may have failed: the caller has a terminal, and the command none.
func TestPromptHint(t *testing.T) {
	whole := policy.Verdict{Streams: policy.Streams{Whole: true}}
	piped := [3]wire.FD{wire.FDTTY, wire.FDPipe, wire.FDPipe}
	for _, tt := range []struct {
		name string
		fds  [3]wire.FD
		v    policy.Verdict
		code byte
		want bool
	}{
		{"git push 2>&1 | tee log", piped, whole, 128, true},
		{"ssh", piped, whole, 255, true},
		{"yes | git push", [3]wire.FD{wire.FDPipe, wire.FDTTY, wire.FDTTY}, whole, 128, true},
		{"git push >log", [3]wire.FD{wire.FDTTY, wire.FDFile, wire.FDTTY}, whole, 128, true},
		{"with a terminal", [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDPipe}, whole, 128, false},
		{"without any", [3]wire.FD{wire.FDNull, wire.FDPipe, wire.FDPipe}, whole, 128, false},
		{"success", piped, whole, 0, false},
		{"make", piped, whole, 2, false},
		{"by a rule", piped, policy.Verdict{}, 128, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &request{Request: policy.Request{Args: []string{"git"}}, fds: tt.fds}
			e := req.explainMissingTerminal(wire.Exit{Outcome: wire.Exited, Code: tt.code}, &tt.v)
			if got := strings.HasPrefix(e.Text, "hostexec: git: hint: if it wanted to ask something, it had no terminal to ask on, "); got != tt.want {
				t.Errorf("it says %q, want the hint: %v", e.Text, tt.want)
			}
		})
	}
}

// TestSetEnv checks that a variable is set if the host permits it, that its last value counts, and
// that no other is set.
func TestSetEnv(t *testing.T) {
	pass := []string{"CI", "PATH"}
	for _, tt := range []struct {
		name string
		env  []string
		want string // what the caller then says of CI
		says string // why not
	}{
		{"none", nil, "before", ""},
		{"one", []string{"CI=1"}, "1", ""},
		{"empty", []string{"CI="}, "", ""},
		{"an equals sign", []string{"CI=a=b"}, "a=b", ""},
		{"twice", []string{"CI=1", "TERM=vt100", "CI=2"}, "2", ""},
		{"not passed", []string{"CI=1", "LD_PRELOAD=/x"}, "before", "--env: the host does not accept LD_PRELOAD"},
		{"strange", []string{"a\x1b\n=x"}, "before", `--env: the host does not accept "a\x1b\n"`},
		{"PATH", []string{"PATH=/x"}, "before", "--env: the host does not accept PATH"},
		{"no terminal", []string{"TERM=/etc/x"}, "before", "--env: not a valid value of TERM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &request{env: []string{"CI=before"}}
			says := ""
			if e := req.setEnv(tt.env, pass); e != nil {
				says = e.Reason
			}
			if got := callerVars(req.env, pass)["CI"]; got != tt.want || says != tt.says {
				t.Errorf("CI = %q, want %q; says %q, want %q", got, tt.want, says, tt.says)
			}
		})
	}
}

func TestDispositions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fds    [3]wire.FD
		passed [3]int
		want   [3]wire.Disposition
		tty    bool
	}{
		{"pipes", [3]wire.FD{wire.FDPipe, wire.FDPipe, wire.FDSocket}, [3]int{7, 8, 9}, [3]wire.Disposition{wire.Taken, wire.Taken, wire.Taken}, false},
		{"files", [3]wire.FD{wire.FDFile, wire.FDFile, wire.FDOther}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.Copied, wire.Copied, wire.Copied}, false},
		{"terminal", [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDTTY}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.PTY, wire.PTY, wire.PTY}, true},
		{"terminal, errors to a file", [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDFile}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.PTY, wire.PTY, wire.Copied}, true},
		{"terminal, errors to nowhere", [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDNull}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.PTY, wire.PTY, wire.Null}, true},
		{"make | less", [3]wire.FD{wire.FDTTY, wire.FDPipe, wire.FDTTY}, [3]int{7, 8, 9}, [3]wire.Disposition{wire.Taken, wire.Taken, wire.Taken}, false},
		{"closed", [3]wire.FD{}, [3]int{-1, -1, -1}, [3]wire.Disposition{wire.Null, wire.Null, wire.Null}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &request{fds: tt.fds, passed: tt.passed}
			if got := dispositions(req); got != tt.want || req.tty() != tt.tty {
				t.Errorf("dispositions = %v, tty %v, want %v, %v", got, req.tty(), tt.want, tt.tty)
			}
		})
	}
}

func TestInputGrants(t *testing.T) {
	granted := 0
	in := newInput(func(n int) { granted += n })
	chunk := make([]byte, wire.MaxFrame)
	for range wire.Window / wire.MaxFrame {
		if err := in.put(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.put([]byte{0}); err != errCredit {
		t.Errorf("put beyond the window = %v, want %v", err, errCredit)
	}
	in.end()
	if b, err := io.ReadAll(in); len(b) != wire.Window || err != nil {
		t.Errorf("read %d bytes, %v, want %d", len(b), err, wire.Window)
	}
	// The last of it may be less than is worth a frame.
	if granted <= wire.Window*3/4 {
		t.Errorf("granted = %d of %d", granted, wire.Window)
	}
	in.Close()
	if _, err := in.Read(chunk); err != io.ErrClosedPipe {
		t.Errorf("read after Close = %v, want %v", err, io.ErrClosedPipe)
	}
}

// One connection too many closes the oldest one, and no other: at once beyond the first limit, and beyond the second
// one if the oldest is slow.
//
// Attacks 39, 143.
func TestConnLimiter(t *testing.T) {
	for _, tt := range []struct {
		limit int
		wait  time.Duration
	}{{maxNew, 0}, {maxSlow, slowAfter + time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			var g connLimiter
			var ends []net.Conn
			enter := func() {
				a, b := net.Pipe()
				t.Cleanup(func() { a.Close(); b.Close() })
				g.enter(a)
				ends = append(ends, a)
			}
			enter()
			time.Sleep(tt.wait)
			for range tt.limit - 1 {
				enter()
			}
			if len(g.waiting) != tt.limit {
				t.Fatalf("%d wait, want all %d", len(g.waiting), tt.limit)
			}
			enter()
			if _, err := ends[0].Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the oldest connection: %v, want it cut short", err)
			}
			if len(g.waiting) != tt.limit || g.waiting[0].Conn != ends[1] {
				t.Errorf("%d wait, want %d without the oldest", len(g.waiting), tt.limit)
			}
			for _, c := range ends {
				g.leave(c)
			}
			if len(g.waiting) != 0 {
				t.Errorf("%d are left", len(g.waiting))
			}
		})
	}
}

// TestAgentTerminal leaves an agent's terminal, which carries no messages.
func TestAgentTerminal(t *testing.T) {
	r := request{fds: [3]wire.FD{wire.FDTTY, wire.FDTTY, wire.FDTTY}, passed: [3]int{-1, -1, -1}}
	if err := r.chooseStdin(true); err != nil || !r.tty() {
		t.Errorf("an agent's terminal is dropped: %v", err)
	}
}

// TestWantsJSON checks that the variable's first value counts, and that the zero Failure is a
// failure.
func TestWantsJSON(t *testing.T) {
	for _, env := range []string{"HOSTEXEC_JSON=", "HOSTEXEC_JSON=true", "XHOSTEXEC_JSON=1"} {
		if wantsJSON([]string{env, "HOSTEXEC_JSON=1"}) != strings.HasPrefix(env, "X") {
			t.Errorf("%s before HOSTEXEC_JSON=1", env)
		}
	}
	if f := (Failure{}).frame(false); f.Outcome != wire.Failed {
		t.Errorf("the zero end is %+v", f)
	}
}

// TestGitRefusalHint checks that the refusal of a request of git-push names the command that shows why: with the
// session, whose --proxy may have decided. The name of a branch may have characters with a meaning for a shell.
func TestGitRefusalHint(t *testing.T) {
	for branch, want := range map[string]string{"main": "main", "a;id": "'a;id'", "$(id)": "'$(id)'"} {
		req := &request{Request: policy.Request{Args: []string{policy.GitPush, "force", "origin", branch}}}
		got := gitRefusal(&SessionConfig{Session: "5f0c1a2b3c4d"}, req, &policy.Verdict{Command: policy.Command{Name: policy.GitPush}})
		want = "docker hostexec policy explain --session 5f0c1a2b3c4d -- git-push force origin " + want + " on the host shows why"
		if got.Status != StatusRefused || got.Hint != want {
			t.Errorf("gitRefusal of %q = %+v, want the hint %q", branch, got, want)
		}
	}
}

// TestWorkdirWithoutDescriptors checks that a directory which cannot be opened anywhere is not called a mismatch.
func TestWorkdirWithoutDescriptors(t *testing.T) {
	dirs, err := mount.NewTable(nil, mount.Default{Source: t.TempDir(), Target: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	defer dirs.Close()
	lost := &fs.PathError{Op: "open", Path: "/w", Err: syscall.EMFILE}
	got := workdirMismatch(&SessionConfig{Dirs: dirs}, &request{Request: policy.Request{Args: []string{"make"}, Cwd: "/w"}}, lost)
	if got.Status != StatusRefused || got.Reason != lost.Error() || !strings.Contains(got.Hint, "ulimit -n") {
		t.Errorf("workdirMismatch = %+v", got)
	}
}

// TestReadExecReserves checks that a request takes no more memory than it has reserved. The lists of half a million
// empty arguments are four times as large as the frame. They were allocated, as was a copy of the frame, before anything
// but the frame was reserved: 31 such requests took 775 MiB at a limit of 64 MiB.
//
// Attack 40.
func TestReadExecReserves(t *testing.T) {
	msg := wire.Exec{Args: append([]string{"make"}, make([]string, 500_000)...), Cwd: "/"}
	frame := wire.AppendFrame(nil, wire.KindExec, msg.Append(nil))
	for _, tt := range []struct {
		name string
		max  int64
		args int
		fits bool
	}{
		{"memory for the lists", 16 << 20, len(msg.Args), true},
		{"memory for the frame only", 4 << 20, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // a refusal comes after a wait
				s := &Server{}
				s.Limits.Adjust(limit.Limits{limit.Argv: tt.max})
				held := s.newReservation()
				defer held.release()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got, err := readExec(bytes.NewReader(frame), held)
				runtime.ReadMemStats(&after)
				if len(got.Args) != tt.args || got.Args[0] != "make" || (err == nil) != tt.fits {
					t.Errorf("readExec = %d arguments, %v, want %d", len(got.Args), err, tt.args)
				}
				taken, reserved := int64(after.TotalAlloc-before.TotalAlloc), s.Limits.Held(limit.Argv)
				if most := reserved + 256<<10; taken > most { // beside it: the first bytes, and timers
					t.Errorf("readExec takes %d bytes, and has reserved %d", taken, reserved)
				}
			})
		})
	}
}
