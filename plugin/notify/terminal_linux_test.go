// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/creack/pty"
)

// TestOpen checks a live, a zombie and a reaped session leader. A zombie counts as dead.
func TestOpen(t *testing.T) {
	cmd := exec.Command("cat")
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	start, ok := startTime(cmd.Process.Pid)
	if !ok {
		t.Fatal("no start time of a running process")
	}
	path, err := os.Readlink("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/fd/0")
	if err != nil {
		t.Fatal(err)
	}
	term := Terminal{Path: path, Leader: cmd.Process.Pid, LeaderStart: start}
	if !term.IsOpen() {
		t.Error("the terminal of a process that runs is not open")
	}
	if (Terminal{Leader: term.Leader, LeaderStart: start + 1}).IsOpen() {
		t.Error("a terminal is open although another process has its leader's pid")
	}
	if (Terminal{}).IsOpen() {
		t.Error("an empty Terminal is open")
	}
	term.Bell()
	b := make([]byte, 8)
	if n, err := tty.Read(b); err != nil || string(b[:n]) != "\a" {
		t.Errorf("the terminal shows %q, %v, want a bell", b[:n], err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if term.IsOpen() {
		t.Error("the terminal of a dead process is open")
	}
	term.Bell() // must do nothing
}

// TestBellOfTerminalsOnly checks that Bell does not write to a regular file.
func TestBellOfTerminalsOnly(t *testing.T) {
	file := t.TempDir() + "/tty"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start, _ := startTime(os.Getpid())
	Terminal{Path: file, Leader: os.Getpid(), LeaderStart: start}.Bell()
	if b, err := os.ReadFile(file); err != nil || len(b) != 0 {
		t.Errorf("the file holds %q, %v", b, err)
	}
}
