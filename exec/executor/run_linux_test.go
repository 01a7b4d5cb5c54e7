// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestExitCodes(t *testing.T) {
	h := newHost(t)
	for code := range 256 {
		st, err := h.Run(context.Background(), sh(t, "exit "+strconv.Itoa(code)), none())
		if want := (Status{Code: code}); st != want || err != nil {
			t.Errorf("exit %d: %+v, %v, want %+v", code, st, err, want)
		}
	}
}

func TestSignaled(t *testing.T) {
	h := newHost(t)
	for _, tt := range []struct {
		name Signal
		code int
	}{{"HUP", 129}, {"INT", 130}, {"KILL", 137}, {"USR1", 138}, {"TERM", 143}, {"XFSZ", 153}, {"RTMIN+1", 163}} {
		sig := strconv.Itoa(tt.code - 128)
		st, err := h.Run(context.Background(), sh(t, "ulimit -c 0; kill -"+sig+" $$"), none())
		if want := (Status{Code: tt.code, Signal: tt.name}); st != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, st, err, want)
		}
	}
}

func TestCannotStart(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	size := &Winsize{24, 80, 0, 0}
	tests := []struct {
		name, path string
		want       error
		text       string
	}{
		{"missing", filepath.Join(dir, "gone"), fs.ErrNotExist, "gone"},
		{"not executable", write("plain", "", 0o644), fs.ErrPermission, "plain"},
		{"a directory", dir, fs.ErrPermission, dir},
		{"interpreter missing", write("bad", "#!/no/such\n", 0o755), fs.ErrNotExist, "interpreter"},
	}
	for _, tt := range tests {
		for _, tty := range []*Winsize{nil, size} {
			c := sh(t, "")
			c.Path = tt.path
			s := none()
			s.TTY = tty
			s.Started = func(int) { t.Errorf("%s: started", tt.name) }
			_, err := h.Run(context.Background(), c, s)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s, tty %v: %v, want %v with %q", tt.name, tty != nil, err, tt.want, tt.text)
			}
		}
	}
}

func TestScriptWithoutInterpreter(t *testing.T) {
	h := newHost(t)
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("echo \"$0 $*\"; exit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := sh(t, "")
	c.Path, c.Args = script, []string{"script", "a", "b c"}
	if out, _, st := output(t, h, c); out != script+" a b c\n" || st.Code != 3 {
		t.Errorf("output %q, status %+v, want %q, 3", out, st, script+" a b c\n")
	}
}

func TestArguments(t *testing.T) {
	h := newHost(t)
	long := strings.Repeat("x", 120<<10)
	args := []string{"", "a\nb", "\xff\xfe", " ", "*", "-n", long}
	out, _, _ := output(t, h, sh(t, `printf '%s\0' "$@"`, append([]string{"sh"}, args...)...))
	if want := strings.Join(args, "\x00") + "\x00"; out != want {
		t.Errorf("arguments arrived as %.40q..., want %.40q...", out, want)
	}
}

// TestProcessAttributes checks the three descriptors of a command, its directory after a rename, its
// session, its privileges and its request ID.
//
// Attack 155.
func TestProcessAttributes(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/a", 0o755); err != nil {
		t.Fatal(err)
	}
	leak, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	held := hold(t, dir+"/a")
	if err := os.Rename(dir+"/a", dir+"/b"); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, script, want string }{
		{"descriptors", "ls /proc/$$/fd; :", "0\n1\n2\n"},
		{"directory", "pwd -P", dir + "/b\n"},
		{"session", `[ "$(cut -d' ' -f6 /proc/$$/stat)" = $$ ] && echo own`, "own\n"},
		{"terminal", "cut -d' ' -f7 /proc/self/stat; tty < /dev/tty 2>/dev/null; true", "0\n"},
		{"privileges", "grep NoNewPrivs /proc/$$/status", "NoNewPrivs:\t1\n"},
		{"signals", "grep -E 'Sig(Blk|Ign)' /proc/self/status", "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"},
		{"marker", "echo $HOSTEXEC_REQUEST_ID", "TestProcessAttributes\n"},
	}
	for _, tt := range tests {
		c := sh(t, tt.script)
		c.Dir = held
		c.Env = append(c.Env, "HOSTEXEC_REQUEST_ID=another")
		if got, stderr, _ := output(t, h, c); got != tt.want {
			t.Errorf("%s: %q %q, want %q", tt.name, got, stderr, tt.want)
		}
	}
	c := sh(t, "grep NoNewPrivs /proc/self/status")
	c.NewPrivs = true
	if got, _, _ := output(t, h, c); got != "NoNewPrivs:\t0\n" {
		t.Errorf("with NewPrivs: %q, want none", got)
	}
}

// TestCancelledBeforeStart checks that a call that is cancelled before the start runs no command.
//
// Attack 159.
func TestCancelledBeforeStart(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("gone")
	cancel(gone)
	marker := filepath.Join(t.TempDir(), "ran")
	_, err := h.Run(ctx, sh(t, "touch $0", marker), none())
	if err != gone {
		t.Errorf("Run = %v, want %v", err, gone)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the command ran")
	}
}

// atOnce is a cancellation cause with no time between TERM and KILL.
type atOnce struct{ error }

func (atOnce) Grace() time.Duration { return 0 }

// TestGraceful checks that the cancellation cause sets the time between TERM and KILL.
func TestGraceful(t *testing.T) {
	h := newHost(t)
	h.Grace = time.Hour
	ctx, cancel := context.WithCancelCause(context.Background())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := none()
	s.Out = w
	// ends when the command has reported that it ignores TERM.
	go func() {
		r.Read(make([]byte, 1))
		cancel(fmt.Errorf("stopped: %w", atOnce{errors.New("at once")}))
	}()
	st, err := h.Run(ctx, sh(t, "trap '' TERM; echo ready; while :; do sleep 1; done"), s)
	if st.Signal != "KILL" || err == nil {
		t.Errorf("Run = %+v, %v, want it killed", st, err)
	}
}

// onWrite is called when the command has written something.
type onWrite func()

func (f onWrite) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// TestEndedStatus checks that a command that hostexec ended counts as killed, whatever it does on
// TERM.
func TestEndedStatus(t *testing.T) {
	stop := errors.New("stop")
	tests := []struct {
		script string
		cause  error
		want   Status
	}{
		{"echo ready; exec sleep 1000", stop, Status{Code: 143, Signal: "TERM"}},
		{"trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done", stop, Status{Code: 143, Signal: "TERM"}},
		{"trap '' TERM; echo ready; while :; do sleep 0.01; done", atOnce{stop}, Status{Code: 137, Signal: "KILL"}},
	}
	h := newHost(t)
	h.Grace = time.Minute // a busy machine runs the trap late
	for _, tt := range tests {
		ctx, cancel := context.WithCancelCause(context.Background())
		s := none()
		s.Out = onWrite(func() { cancel(tt.cause) })
		if st, err := h.Run(ctx, sh(t, tt.script), s); st != tt.want || err != tt.cause {
			t.Errorf("%s: %+v, %v, want %+v", tt.script, st, err, tt.want)
		}
	}
}

// idle is a stdin on which nothing comes. Run closes it when the command has ended.
type idle chan struct{}

func (i idle) Read([]byte) (int, error) { <-i; return 0, io.EOF }
func (i idle) Close() error             { close(i); return nil }

// TestEndedBefore checks that a command keeps its own status if it has ended before the context does.
func TestEndedBefore(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop, in := errors.New("stop"), make(idle)
	s := none()
	s.In, s.Out = in, onWrite(func() { <-in; cancel(stop) })
	if st, err := newHost(t).Run(ctx, sh(t, "echo ready; exit 4"), s); st.Code != 4 || st.Signal != "" || err != stop {
		t.Errorf("Run = %+v, %v, want code 4", st, err)
	}
}
