// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

func TestReap(t *testing.T) {
	p := newParent(t)
	for code := 0; code <= 255; code += 17 {
		ws := start(t, p, sh("exit "+strconv.Itoa(code))).Reap()
		if !ws.Exited() || ws.ExitStatus() != code {
			t.Errorf("exit %d: %v", code, ws)
		}
	}
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGKILL, unix.SIGUSR1, unix.SIGTERM} {
		tr := start(t, p, sh("echo ready; exec sleep 1000"))
		tr.ready(t)
		if err := tr.Signal(sig); err != nil {
			t.Error(err)
		}
		if ws := tr.Reap(); !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("%v: %v", sig, ws)
		}
		if err := tr.Signal(sig); err != os.ErrProcessDone {
			t.Errorf("Signal after Reap = %v, want %v", err, os.ErrProcessDone)
		}
	}
}

func TestStartFails(t *testing.T) {
	p := newParent(t)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, newPrivs := range []bool{false, true} {
		for path, want := range map[string]error{"/no/such": fs.ErrNotExist, plain: fs.ErrPermission, "/": fs.ErrPermission} {
			_, err := p.Start(context.Background(), StartConfig{Path: path, Args: []string{"x"}, NewPrivs: newPrivs})
			if !errors.Is(err, want) {
				t.Errorf("Start(%s) = %v, want %v", path, err, want)
			}
		}
	}
	if n := zombies(t); n != 0 {
		t.Errorf("%d zombies are left", n)
	}
}

// As execvp(3) and every shell do.
func TestScriptWithoutInterpreter(t *testing.T) {
	p := newParent(t)
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("echo \"$0 $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tr := start(t, p, StartConfig{Path: script, Args: []string{"called", "a", "b c"}})
	if got, want := tr.ready(t), script+" a b c"; got != want {
		t.Errorf("script printed %q, want %q", got, want)
	}
	tr.Reap()
}

func TestNoNewPrivs(t *testing.T) {
	p := newParent(t)
	for newPrivs, want := range map[bool]string{false: "NoNewPrivs:\t1", true: "NoNewPrivs:\t0"} {
		s := sh("grep NoNewPrivs /proc/self/status")
		s.NewPrivs = newPrivs
		tr := start(t, p, s)
		if got := tr.ready(t); got != want {
			t.Errorf("NewPrivs %v: %q, want %q", newPrivs, got, want)
		}
		tr.Reap()
	}
	if got := own(t, "NoNewPrivs"); got != "0" {
		t.Errorf("this process has NoNewPrivs %s, want 0", got)
	}
}

func own(t *testing.T, field string) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), field+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

// A watcher started by a script inherits ignored signals, one started by a careless
// program a mask; its commands must not.
func TestDefaultSignals(t *testing.T) {
	runtime.LockOSThread() // for ever: the mask of this thread is spoilt
	cmd := exec.Command("/bin/sh", "-c", `trap "" HUP INT QUIT TSTP TTIN TTOU CONT USR1 WINCH; exec "$0"`, "/proc/"+strconv.Itoa(os.Getpid())+"/exe")
	cmd.Env = append(os.Environ(), "PROCTREE_TEST_AS=starter")
	all := unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	want := "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
	if string(out) != want || err != nil {
		t.Errorf("a command of such a watcher has %q, %v, want %q", out, err, want)
	}
}

func TestStopped(t *testing.T) {
	p := newParent(t)
	tr := start(t, p, sh("kill -STOP $$; echo awake"))
	<-tr.Stopped()
	if err := tr.Signal(unix.SIGCONT); err != nil {
		t.Error(err)
	}
	tr.ready(t)
	tr.Reap()
}

// What a command leaves behind lives on, is reaped when it ends, and os/exec's children
// are not taken for it.
func TestOrphans(t *testing.T) {
	p := newParent(t)
	tr := start(t, p, sh("(setsid sh -c 'echo $$; read x < $0' $0 &)", exectest.FIFO(t)))
	orphan := number(t, tr.ready(t))
	tr.Reap()
	if st, ok := readStat(orphan); !ok || !st.alive() {
		t.Fatalf("orphan %d ended with its command", orphan)
	}
	unix.Kill(orphan, unix.SIGTERM)
	exectest.Eventually(t, "the orphan is reaped", func() bool { return !exectest.ProcessExists(orphan) })
}

// A dead command that nobody has reaped yet does not keep orphans zombies.
func TestOrphanBehindDeadCommand(t *testing.T) {
	p := newParent(t)
	tr := start(t, p, sh("(setsid sh -c 'echo $$; read x < $0' $0 &)", exectest.FIFO(t)))
	orphan := number(t, tr.ready(t))
	<-tr.Done()
	unix.Kill(orphan, unix.SIGTERM)
	exectest.Eventually(t, "the orphan is reaped", func() bool { return !exectest.ProcessExists(orphan) })
	tr.Reap()
}

func TestStatusesAreNotStolen(t *testing.T) {
	p := newParent(t)
	var wg sync.WaitGroup
	for i := range 4 {
		// ends after its 50 commands; the test waits.
		wg.Go(func() {
			for range 50 {
				if i%2 == 0 {
					err := exec.Command("/bin/sh", "-c", "exit 7").Run()
					var exit *exec.ExitError
					if !errors.As(err, &exit) || exit.ExitCode() != 7 {
						t.Errorf("os/exec: %v, want exit status 7", err)
					}
					continue
				}
				c, err := p.Start(context.Background(), StartConfig{Path: "/bin/sh", Args: []string{"sh", "-c", "(:) & exit 7"}, Files: [3]int{0, 1, 2}})
				if err != nil {
					t.Error(err)
					return
				}
				if ws := c.Reap(); ws.ExitStatus() != 7 {
					t.Errorf("Reap = %v, want exit status 7", ws)
				}
			}
		})
	}
	wg.Wait()
	exectest.Eventually(t, "orphans are reaped", func() bool { return zombies(t) == 0 })
}

// Where the kernel has no pidfd a child is waited for by a thread.
func TestWithoutPidfd(t *testing.T) {
	p := newParent(t)
	c := newChild(StartConfig{ID: "x"})
	s := StartConfig{Files: [3]int{0, 1, 2}}
	err := p.strict.start("/bin/sh", []string{"sh", "-c", "exit 5"}, s.attr(), 0, func(pid int) {
		c.leader, c.Pid, c.done = pid, pid, c.dead
		if children.byPID == nil {
			children.byPID = map[int]*Child{}
		}
		children.byPID[pid] = c
	})
	if err != nil {
		t.Fatal(err)
	}
	// ends when the child does; Reap waits for it.
	go c.await()
	if ws := c.Reap(); ws.ExitStatus() != 5 {
		t.Errorf("Reap = %v, want exit status 5", ws)
	}
}

func BenchmarkStart(b *testing.B) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	fd := int(null.Fd())
	path, args := "/bin/true", []string{"true"}
	b.Run("syscall", func(b *testing.B) {
		for range b.N {
			pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{Files: []uintptr{uintptr(fd), uintptr(fd), uintptr(fd)}})
			if err != nil {
				b.Fatal(err)
			}
			reap(pid)
		}
	})
	b.Run("parent", func(b *testing.B) {
		p, err := NewParent()
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		for range b.N {
			c, err := p.Start(context.Background(), StartConfig{Path: path, Args: args, Files: [3]int{fd, fd, fd}})
			if err != nil {
				b.Fatal(err)
			}
			c.Reap()
		}
	})
}
