// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The test binary is also a helper, the keeper, the watcher and other processes.
func TestMain(m *testing.M) {
	if os.Args[0] == HelperName {
		os.Exit(Helper(os.Args))
	}
	switch os.Getenv("PROCTREE_TEST_AS") {
	case "keeper":
		os.Exit(keeperMain())
	case "watcher":
		os.Exit(watcherMain())
	case "threads":
		threadsMain()
	case "starter":
		os.Exit(starterMain())
	default:
		DefaultSignals() // nohup, or a script's &, is not what is tested
		os.Exit(m.Run())
	}
}

// threadsMain forks a sleep from another thread than the first and waits.
func threadsMain() {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		cmd := exec.Command("sleep", "1000")
		cmd.Stdout = os.Stdout
		started <- cmd.Start()
		cmd.Wait()
	}()
	if err := <-started; err != nil {
		panic(err)
	}
	os.Stdout.WriteString("ready\n")
	select {}
}

// starterMain starts sh as a Parent does and prints what the shell inherited.
func starterMain() int {
	p, err := NewParent()
	if err != nil {
		return 1
	}
	c, err := p.Start(context.Background(), StartConfig{Path: "/bin/grep", Args: []string{"grep", "^Sig[BI]", "/proc/self/status"}, Files: [3]int{0, 1, 2}})
	if err != nil {
		return 1
	}
	return c.Reap().ExitStatus()
}

// as returns a command that runs the test binary as one of the above.
func as(what string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "PROCTREE_TEST_AS="+what)
	return cmd
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
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// tree is a started child whose whole tree holds the write end of a pipe as its stdout.
type tree struct {
	*Child
	out *bufio.Reader
}

// start starts sh with a script and waits until it has written its first line.
func start(t *testing.T, p *Parent, s StartConfig) tree {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s.Files = [3]int{int(null.Fd()), int(w.Fd()), 2}
	if s.Env == nil {
		s.Env = os.Environ()
	}
	if s.ID == "" {
		s.ID = t.Name()
	}
	c, err := p.Start(context.Background(), s)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return tree{c, bufio.NewReader(r)}
}

func sh(script string, args ...string) StartConfig {
	return StartConfig{Path: "/bin/sh", Args: append([]string{"sh", "-c", script}, args...)}
}

// ready waits for the tree's first line.
func (tr tree) ready(t *testing.T) string {
	t.Helper()
	line, err := tr.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the tree did not start: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// gone reports whether nobody holds the pipe any more.
func (tr tree) gone(t *testing.T) {
	t.Helper()
	done := make(chan error, 1)
	// ends when the tree has; the test fails when it has not within its patience.
	go func() {
		_, err := io.Copy(io.Discard, tr.out)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("somebody of the tree still lives")
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func zombies(t *testing.T) (n int) {
	t.Helper()
	for _, pid := range newChildLister().of(os.Getpid()) {
		if st, ok := readStat(pid); ok && st.state == 'Z' {
			n++
		}
	}
	return n
}
