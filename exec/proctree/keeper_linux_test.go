// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func keeperMain() int {
	os.Setenv("PROCTREE_TEST_AS", "watcher")
	args := append([]string{"/proc/self/exe"}, os.Args[1:]...)
	return Keeper{Grace: 100 * time.Millisecond}.Keep(args, os.Environ(), []*os.File{os.NewFile(3, "out")})
}

// watcherMain starts a command that leaves as many processes as it can, and writes its pid to descriptor 3. It exits
// with the given code, or waits.
func watcherMain() int {
	out := os.NewFile(3, "out")
	if len(os.Args) > 1 && os.Args[1] == "follows" {
		fmt.Fprintln(out, os.Getpid())
		_, err := io.Copy(out, os.Stdin)
		fmt.Fprint(out, "keeper gone: ", err)
		return 0
	}
	p, err := NewParent()
	if err != nil {
		return 1
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 1
	}
	if len(os.Args) > 2 {
		return leaverMain(p, out)
	}
	script := `(setsid env -i sh -c 'trap "" TERM; echo ready; sleep 1000' &); sleep 1000 & wait`
	c, err := p.Start(context.Background(), StartConfig{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: os.Environ(), Files: [3]int{0, int(w.Fd()), 3}})
	if err != nil {
		return 1
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		return 1
	}
	fmt.Fprintln(out, os.Getpid())
	if len(os.Args) > 1 {
		code, _ := strconv.Atoi(os.Args[1])
		return code
	}
	c.Reap()
	return 0
}

// leaverMain leaves two sleeps, one of them in a new session, writes their pids, and ends as a
// watcher does or waits to be killed.
func leaverMain(p *Parent, out *os.File) int {
	for _, leave := range []bool{true, false} {
		r, w, err := os.Pipe()
		if err != nil {
			return 1
		}
		script := "setsid sleep 1000 >&- 2>&- & echo $!"
		c, err := p.Start(context.Background(), StartConfig{ID: strconv.FormatBool(leave), Path: "/bin/sh", Args: []string{"sh", "-c", script},
			Env: os.Environ(), Files: [3]int{0, int(w.Fd()), 2}, Leave: leave})
		if err != nil {
			return 1
		}
		c.Reap()
		w.Close()
		line, err := bufio.NewReader(r).ReadString('\n')
		if err != nil {
			return 1
		}
		fmt.Fprint(out, line)
	}
	fmt.Fprintln(out, os.Getpid())
	if os.Args[2] == "waits" {
		select {}
	}
	if p.End(0) != nil || p.Close() != nil {
		return 1
	}
	code, _ := strconv.Atoi(os.Args[1])
	return code
}

// TestKeeperLeaves ends a watcher in each way. The keeper leaves processes only if the watcher said
// that it had ended its calls.
func TestKeeperLeaves(t *testing.T) {
	tests := []struct {
		name, code, how string
		stays           bool
	}{
		{"exits with 0", "0", "exits", true},
		{"fails", "1", "exits", false},
		{"is killed", "0", "waits", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd, left, out := startKeeper(t, tt.code, tt.how)
			var other, watcher int
			if _, err := fmt.Fscan(out, &other, &watcher); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Kill(left, unix.SIGKILL) })
			if tt.how == "waits" {
				unix.Kill(watcher, unix.SIGKILL)
			}
			cmd.Wait()
			if alive(other) {
				t.Errorf("%d runs, and was not to stay", other)
			}
			if got := alive(left); got != tt.stays {
				t.Errorf("what may stay runs: %t, want %t", got, tt.stays)
			}
		})
	}
}

// startKeeper starts a keeper and returns its watcher's pid and a pipe that all below it
// hold.
func startKeeper(t *testing.T, args ...string) (*exec.Cmd, int, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	cmd := as("keeper", args...)
	cmd.ExtraFiles = []*os.File{w}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, number(t, strings.TrimSpace(line)), out
}

// Attack 156.
func TestKeeper(t *testing.T) {
	tests := []struct {
		name string
		args []string
		kill func(keeper, watcher int) error
		want int
	}{
		{"watcher exits", []string{"42"}, nil, 42},
		{"watcher is killed", nil, func(_, watcher int) error { return unix.Kill(watcher, unix.SIGKILL) }, 128 + 9},
		{"TERM", nil, func(keeper, _ int) error { return unix.Kill(keeper, unix.SIGTERM) }, 128 + 15},
		{"INT", nil, func(keeper, _ int) error { return unix.Kill(keeper, unix.SIGINT) }, 128 + 2},
		{"HUP", nil, func(keeper, _ int) error { return unix.Kill(keeper, unix.SIGHUP) }, 128 + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd, watcher, out := startKeeper(t, tt.args...)
			if tt.kill != nil {
				if err := tt.kill(cmd.Process.Pid, watcher); err != nil {
					t.Fatal(err)
				}
			}
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != tt.want {
				t.Errorf("the keeper's exit code = %d, want %d", got, tt.want)
			}
			r, ok := waitEOF(out)
			if !ok {
				t.Errorf("somebody still holds the pipe after %q", r)
			}
		})
	}
}

// TestKeeperKilled kills the keeper: its watcher learns of it.
func TestKeeperKilled(t *testing.T) {
	cmd, watcher, out := startKeeper(t, "follows")
	t.Cleanup(func() { unix.Kill(watcher, unix.SIGKILL) })
	cmd.Process.Kill()
	cmd.Wait()
	if got, _ := waitEOF(out); got != "keeper gone: <nil>" {
		t.Errorf("the watcher of a keeper that was killed says %q", got)
	}
}

// waitEOF reads on until nobody holds the other end.
func waitEOF(r io.Reader) (string, bool) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	// ends when the last writer has, or with the test's pipe.
	go func() {
		b, err := io.ReadAll(r)
		done <- result{b, err}
	}()
	select {
	case res := <-done:
		return string(res.text), res.err == nil
	case <-time.After(30 * time.Second):
		return "", false
	}
}

func TestKeeperFindsNothing(t *testing.T) {
	if got := (Keeper{}).Keep([]string{"/no/such"}, nil, nil); got != 127 {
		t.Errorf("Keep of nothing = %d, want 127", got)
	}
}
