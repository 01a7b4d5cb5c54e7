// SPDX-License-Identifier: Apache-2.0

//go:build portable

package proctree

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also a keeper, and the watcher that it keeps.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCTREE_TEST_AS") {
	case "keeper":
		os.Setenv("PROCTREE_TEST_AS", "watcher")
		exe, _ := os.Executable()
		os.Exit(Keeper{Grace: 100 * time.Millisecond}.Keep([]string{exe}, os.Environ(), []*os.File{os.NewFile(3, "talk")}))
	case "watcher":
		p, err := NewParent()
		if err == nil {
			_, err = p.Start(Start{ID: "kept", Path: "/bin/sh", Args: []string{"sh", "-c", double}, Env: os.Environ(), Files: [3]int{0, 3, 3}})
		}
		if err != nil {
			os.Exit(1)
		}
		select {}
	}
	os.Exit(m.Run())
}

// double leaves a process behind that has neither its parent nor its session, and goes on.
const double = `(setsid sh -c 'echo $$; exec sleep 1000' &); sleep 1000`

// tree is a started command, and what it says.
type tree struct {
	*Child
	out *bufio.Reader
}

func grow(t *testing.T, p *Parent, s Start) tree {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	s.Path, s.Args = "/bin/sh", append([]string{"sh", "-c"}, s.Args...)
	s.Files, s.Env = [3]int{0, int(w.Fd()), 2}, os.Environ()
	c, err := p.Start(s)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return tree{c, bufio.NewReader(r)}
}

// pid reads a number that somebody of the tree says.
func (tr tree) pid(t *testing.T) int {
	t.Helper()
	line, err := tr.out.ReadString('\n')
	pid, nerr := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || nerr != nil {
		t.Fatalf("the tree says %q, %v, want a number", line, err)
	}
	return pid
}

func newParent(t *testing.T) *Parent {
	t.Helper()
	p, err := NewParent()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.End(0); err != nil {
			t.Error(err)
		}
		p.Close()
	})
	return p
}

func runs(pid int) bool {
	p, ok := find(pid)
	return ok && !p.zombie
}

func TestReap(t *testing.T) {
	p := newParent(t)
	for _, code := range []int{0, 1, 255} {
		if ws := grow(t, p, Start{ID: "a", Args: []string{"exit " + strconv.Itoa(code)}}).Reap(); !ws.Exited() || ws.ExitStatus() != code {
			t.Errorf("exit %d: %v", code, ws)
		}
	}
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGKILL, unix.SIGUSR1} {
		tr := grow(t, p, Start{ID: "a", Args: []string{"echo $$; exec sleep 1000"}})
		tr.pid(t)
		tr.Signal(unix.SIGSTOP)
		<-tr.Stopped()
		tr.Signal(unix.SIGCONT)
		tr.Signal(sig)
		if ws := tr.Reap(); !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("%v: %v", sig, ws)
		}
		if err := tr.Signal(sig); err != os.ErrProcessDone {
			t.Errorf("Signal after Reap = %v, want %v", err, os.ErrProcessDone)
		}
	}
}

// A command starts in the directory that is held, and this process stays where it is.
func TestDirectory(t *testing.T) {
	p, at := newParent(t), t.TempDir()
	d, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before, _ := os.Getwd()
	tr := grow(t, p, Start{ID: "a", Dir: int(d.Fd()), Args: []string{"pwd -P"}})
	got, _ := tr.out.ReadString('\n')
	tr.Reap()
	if got != at+"\n" {
		t.Errorf("it starts in %q, want %q", got, at)
	}
	if now, _ := os.Getwd(); now != before {
		t.Errorf("this process is in %s now", now)
	}
}

// A tree ends whole, however it grew, and nothing else does.
func TestEnd(t *testing.T) {
	p := newParent(t)
	other := grow(t, p, Start{ID: "other", Args: []string{"echo $$; exec sleep 1000"}})
	other.pid(t)
	for name, script := range map[string]string{
		"a child":      "sleep 1000 & echo $!; wait",
		"double fork":  double,
		"ignores TERM": "trap '' TERM; echo $$; while :; do sleep 1000; done",
		"stopped":      "echo $$; kill -STOP $$",
	} {
		tr := grow(t, p, Start{ID: "tree", Args: []string{script}})
		pid := tr.pid(t)
		if err := tr.End(200 * time.Millisecond); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		tr.Reap()
		if runs(pid) {
			t.Errorf("%s: process %d is left", name, pid)
		}
	}
	if !runs(other.Pid) {
		t.Error("another command has ended, too")
	}
}

// What a command has left is seen, and ended by its id.
func TestLeft(t *testing.T) {
	p, id := newParent(t), filepath.Base(t.TempDir())+strconv.FormatInt(time.Now().UnixNano(), 16)
	tr := grow(t, p, Start{ID: id, Args: []string{"sleep 1000 & echo $!"}})
	pid := tr.pid(t)
	tr.Reap()
	left := AllLeft()
	if len(left) != 1 || left[0].ID != id || left[0].PID != pid || len(left[0].Args) == 0 {
		t.Errorf("left %+v, want process %d", left, pid)
	}
	if was, err := EndLeft(id, time.Second); !was || err != nil || runs(pid) {
		t.Errorf("EndLeft = %v, %v, and it runs: %v", was, err, runs(pid))
	}
	if was, _ := EndLeft(id, time.Second); was {
		t.Error("something is left after its end")
	}
}

// Whatever a killed watcher ran is gone before its keeper is.
func TestKeeper(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	exe, _ := os.Executable()
	keeper, err := forkExec(exe, []string{exe}, &syscall.ProcAttr{Env: append(os.Environ(), "PROCTREE_TEST_AS=keeper"), Files: []uintptr{0, 1, 2, w.Fd()}})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	said := tree{out: bufio.NewReader(r)}
	pid := said.pid(t)
	if !Below(pid, "none of this name") || Below(os.Getpid(), "none of this name") {
		t.Error("it is not seen who is a command's")
	}
	for _, row := range processes() {
		if row.ppid == keeper {
			unix.Kill(row.pid, unix.SIGKILL)
		}
	}
	var ws syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(keeper, &ws, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if runs(pid) {
		t.Errorf("process %d has outlived the keeper", pid)
	}
	if got, want := ws.ExitStatus(), 128+9; got != want {
		t.Errorf("the keeper's exit code = %d, want %d", got, want)
	}
}
