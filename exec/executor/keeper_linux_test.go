// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

func keeperMain() int {
	os.Setenv("EXECUTOR_TEST_AS", "watcher")
	k := proctree.Keeper{Grace: 100 * time.Millisecond}
	return k.Keep([]string{"/proc/self/exe"}, os.Environ(), []*os.File{os.NewFile(3, "talk")})
}

// watcherMain runs different kinds of commands with descriptor 3 as their stderr. Once they run, it
// writes its PID to descriptor 3 and waits. It fails if one of them does not run.
func watcherMain() int {
	h, err := NewHost(slog.New(slog.DiscardHandler))
	if err != nil {
		return 1
	}
	out := newScreen()
	dir, err := unix.Open(".", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 1
	}
	run := func(script string, w *Winsize) {
		s := none()
		s.FD[2], s.Out, s.TTY = 3, out, w
		h.Run(context.Background(), Command{ID: script, Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: os.Environ(), Dir: dir}, s)
	}
	scripts := []string{
		"echo ready; exec sleep 1000",
		"trap '' TERM HUP; echo ready; while :; do sleep 1000; done",
		"(setsid env -i sh -c 'echo ready; sleep 1000' &); sleep 1000",
		// The terminal of a command that has ended shows nothing more: so this one ends after "ready".
		"exec 4>&1; { setsid env -i sh -c 'trap \"\" TERM HUP; echo ready >&4; echo; exec sleep 1000 >&-' & } | read _",
	}
	for _, script := range scripts {
		go run(script, nil) // ends with the process, which is killed
		go run(script, &Winsize{Rows: 24, Cols: 80})
	}
	for range 2 * len(scripts) {
		if _, ok := out.await("ready"); !ok {
			return 1
		}
	}
	fmt.Fprintln(os.NewFile(3, "talk"), os.Getpid())
	select {}
}

// TestWatcherKilled checks that all commands of a killed watcher have ended before its keeper ends.
//
// Attack 156.
func TestWatcherKilled(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	keeper := exec.Command("/proc/self/exe")
	keeper.Env = append(os.Environ(), "EXECUTOR_TEST_AS=keeper", "GORACE=atexit_sleep_ms=0")
	keeper.ExtraFiles = []*os.File{w}
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(watcher, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.SetReadDeadline(time.Now().Add(patience))
	if rest, err := io.ReadAll(out); err != nil {
		t.Errorf("somebody still holds the pipe after %q: %v", rest, err)
	}
	keeper.Wait()
	if got, want := keeper.ProcessState.ExitCode(), 128+9; got != want {
		t.Errorf("the keeper's exit code = %d, want %d", got, want)
	}
}
