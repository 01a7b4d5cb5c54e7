// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// patience is how long anything that a test waits for may take. It is no bound of the
// product's: those stand in the tests that check them.
const patience = time.Minute

// runLabel marks every container of this run of the tests, so that the end finds them.
var runLabel = "io.hostexec.e2e=" + strconv.Itoa(os.Getpid())

// base holds all files of this run. Others may look into it: the ordinary user has to.
var base = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hostexec-e2e-"+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
})

var based atomic.Bool // something was put into base

func TestMain(m *testing.M) {
	proctree.DefaultSignals() // nohup, or a script's &, is not what is tested
	code := m.Run()
	if based.Load() {
		if err := cleanUp(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: clean up:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// Host is a person at a host: a user with a home, docker, and the plugin installed.
type Host struct {
	Name   string
	Home   string // DOCKER_CONFIG is .docker in it
	State  string // HOSTEXEC_HOME
	Work   string // where the person is; containers of Detached see it as /w
	Env    []string
	cred   *syscall.Credential // nil: as the tests run
	shared sharedContainers
}

// ordinaryUID is a user who is in no password file, only in the group of docker's socket.
const ordinaryUID = 12345

var hostCount atomic.Int64

// newHost makes a user with a home, HOSTEXEC_HOME and working directory. ordinary requests a user
// without privileges.
func newHost(t testing.TB, ordinary bool) *Host {
	t.Helper()
	dir, err := base()
	check(t, err)
	based.Store(true)
	h := &Host{Name: "root", Home: filepath.Join(dir, "h"+strconv.FormatInt(hostCount.Add(1), 10))}
	if os.Getuid() != 0 {
		h.Name = "self"
	}
	if ordinary {
		h.Name, h.cred = "user", dockerUser(t)
	}
	h.State, h.Work = filepath.Join(h.Home, "state"), filepath.Join(h.Home, "work")
	plugins := filepath.Join(h.Home, ".docker", "cli-plugins")
	for _, d := range []string{h.Home, h.State, h.Work, filepath.Dir(plugins), plugins} {
		h.mkdir(t, d)
	}
	check(t, os.Chmod(h.Work, 0o777)) // containers work in it as any user
	check(t, os.Symlink(pluginPath(t), filepath.Join(plugins, "docker-hostexec")))
	return h
}

// dockerUser returns the credential of the ordinary user.
func dockerUser(t testing.TB) *syscall.Credential {
	t.Helper()
	fi, err := os.Stat("/var/run/docker.sock")
	if err != nil {
		t.Fatalf("the ordinary user needs the group of docker's socket: %v", err)
	}
	gid := fi.Sys().(*syscall.Stat_t).Gid
	return &syscall.Credential{Uid: ordinaryUID, Gid: ordinaryUID, Groups: []uint32{gid}}
}

// mkdir makes a directory of the person's own.
func (h *Host) mkdir(t testing.TB, dir string) {
	t.Helper()
	check(t, os.MkdirAll(dir, 0o755))
	if h.cred != nil {
		check(t, os.Chown(dir, int(h.cred.Uid), int(h.cred.Gid)))
	}
}

// Write puts a file of the person's own into a directory and returns its path.
func (h *Host) Write(t testing.TB, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(dir, name)
	check(t, os.WriteFile(file, []byte(text), mode))
	check(t, os.Chmod(file, mode))
	if h.cred != nil {
		check(t, os.Chown(file, int(h.cred.Uid), int(h.cred.Gid)))
	}
	return file
}

// Command returns name, to be run by the person in Work. When ctx ends so does all that
// it started in the foreground.
func (h *Host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = h.Work
	cmd.Env = h.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: h.cred}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = soon // for what it wrote last: on a busy machine nobody may have read it yet
	return cmd
}

// environ is the person's environment: nothing of the tests' own but where the engine is.
func (h *Host) environ() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.Home, "DOCKER_CONFIG=" + filepath.Join(h.Home, ".docker"),
		"HOSTEXEC_HOME=" + h.State, "TERM=xterm", "LANG=C.UTF-8", "HOST_SECRET=of the host",
	}
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, h.Env...)
}

// Result is what a finished command left.
type Result struct {
	Out, Err string
	Code     int // 128+n if it died of signal n
}

func (r Result) String() string {
	return fmt.Sprintf("code %d\nstdout %q\nstderr %q", r.Code, clip(r.Out), clip(r.Err))
}

func clip(s string) string {
	if len(s) > 800 {
		return s[:400] + " ... " + s[len(s)-400:]
	}
	return s
}

// Docker runs docker to its end and returns what came of it.
func (h *Host) Docker(t testing.TB, args ...string) Result {
	t.Helper()
	return h.feed(t, "", "docker", args...)
}

// feed runs name with stdin as its input, or /dev/null if that is empty.
func (h *Host) feed(t testing.TB, stdin, name string, args ...string) Result {
	t.Helper()
	return h.feedFor(t, patience, stdin, name, args...)
}

// feedFor is feed for what may take longer than other things. A test may call it in any goroutine, so it ends no test.
func (h *Host) feedFor(t testing.TB, patience time.Duration, stdin, name string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := h.Command(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	err := cmd.Run()
	r := Result{out.String(), errs.String(), exitCode(cmd.ProcessState)}
	if ctx.Err() != nil {
		t.Errorf("%q did not end within %s: %v", cmd.Args, patience, r)
	}
	if cmd.ProcessState == nil {
		t.Errorf("%q: %v", cmd.Args, err)
	}
	return r
}

func exitCode(st *os.ProcessState) int {
	if st == nil {
		return -1
	}
	if ws := st.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}

// Must runs docker and returns its stdout; the test ends unless it succeeds.
func (h *Host) Must(t testing.TB, args ...string) string {
	t.Helper()
	r := h.Docker(t, args...)
	if r.Code != 0 {
		t.Fatalf("docker %q: %v", args, r)
	}
	return r.Out
}

// Run runs `docker hostexec run` with args to its end. The container carries the label
// of this run of the tests. It has no network, unless args have a flag for one: the engine then needs a tenth less time.
func (h *Host) Run(t testing.TB, args ...string) Result {
	t.Helper()
	return h.Docker(t, h.runArgs(args...)...)
}

func (h *Host) runArgs(args ...string) []string {
	run := []string{"hostexec", "run", "--label", runLabel}
	if !slices.ContainsFunc(args, networkFlag.MatchString) {
		run = append(run, "--network", "none")
	}
	return append(run, args...)
}

var networkFlag = regexp.MustCompile(`^(--(net|http|add-host|link|ip|mac-address|publish|expose)|-[pP]$)`)

// unique makes a name for a container that no other run of the tests uses.
func unique(name string) string { return "hostexec-e2e-" + strconv.Itoa(os.Getpid()) + "-" + name }

// Sessions lists the session directories that there are.
func (h *Host) Sessions(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(h.State, "sessions", "*"))
	check(t, err)
	return dirs
}

// Audit returns the lines of the audit log, and of its rotated files, that contain all of words.
func (h *Host) Audit(t testing.TB, words ...string) []string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(h.State, "audit.log.[0-9]*"))
	check(t, err)
	number := func(log string) int { return atoi(t, strings.TrimPrefix(filepath.Ext(log), ".")) }
	slices.SortFunc(logs, func(a, b string) int { return number(b) - number(a) })
	var all []byte
	for _, log := range append(logs, filepath.Join(h.State, "audit.log")) {
		b, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(all)), "\n"), func(line string) bool {
		return line == "" || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

// eventually waits until cond holds. It is for what no event tells of.
func eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		begin := time.Now()
		if cond() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
		<-time.After(max(10*time.Millisecond, time.Since(begin))) // a look that costs much is taken less often
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want fails the test if got is not want, and says what it was.
func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %q, want %q", what, clip(fmt.Sprint(got)), clip(fmt.Sprint(want)))
	}
}
