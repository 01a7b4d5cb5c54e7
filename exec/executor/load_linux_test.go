// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

func itoa(n int) string { return strconv.Itoa(n) }

// TestThousandCommands checks that a thousand concurrent commands use descriptors, not threads, and that all
// descriptors are closed afterwards. Under the race detector, there are 200.
//
// Attack 145.
func TestThousandCommands(t *testing.T) {
	h := newHost(t)
	output(t, h, sh(t, ":")) // opens the descriptors that stay open
	fds := entries(t, "/proc/self/fd")
	dir := hold(t, ".")
	gate, err := os.OpenFile(exectest.FIFO(t), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var running, wg sync.WaitGroup
	commands := exectest.Scaled(1000, 200)
	running.Add(commands)
	for i := range commands {
		// ends with its command; the test waits.
		wg.Go(func() {
			s := none()
			s.Started = func(int) { running.Done() }
			s.FD[0] = int(gate.Fd())
			c := Command{ID: itoa(i), Path: "/bin/cat", Args: []string{"cat"}, Dir: dir}
			if st, err := h.Run(context.Background(), c, s); st.Signal != "TERM" || err != nil {
				t.Errorf("Run = %+v, %v, want TERM", st, err)
			}
		})
	}
	running.Wait()
	if n := entries(t, "/proc/self/task"); n > 48 {
		t.Errorf("%d threads for %d commands, want at most 48", n, commands)
	} else {
		t.Logf("%d threads", n)
	}
	for _, pid := range childrenOfSelf(t) {
		unix.Kill(pid, unix.SIGTERM)
	}
	wg.Wait()
	gate.Close()
	unix.Close(dir)
	exectest.Eventually(t, "all descriptors are back", func() bool { return entries(t, "/proc/self/fd") <= fds })
}

func childrenOfSelf(t *testing.T) (list []int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if os.IsNotExist(err) || errors.Is(err, unix.ESRCH) { // a thread that has ended meanwhile
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for f := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, pid)
		}
	}
	return list
}

// TestThousandCommandsCancelled checks that concurrent calls that are cancelled at the same time all end.
func TestThousandCommandsCancelled(t *testing.T) {
	h := newHost(t)
	dir := hold(t, ".")
	ctx, cancel := context.WithCancel(context.Background())
	var running, wg sync.WaitGroup
	commands := exectest.Scaled(300, 60)
	running.Add(commands)
	for i := range commands {
		// ends with its command; the test waits.
		wg.Go(func() {
			s := none()
			s.Started = func(int) { running.Done() }
			c := Command{ID: itoa(i), Path: "/bin/sleep", Args: []string{"sleep", "1000"}, Dir: dir}
			if _, err := h.Run(ctx, c, s); err != context.Canceled {
				t.Errorf("Run = %v, want %v", err, context.Canceled)
			}
		})
	}
	running.Wait()
	cancel()
	wg.Wait()
}

func BenchmarkRun(b *testing.B) {
	h := newHost(b)
	dir := hold(b, ".")
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(null)
	path := "/bin/true"
	if p := os.Getenv("HOSTEXEC_BENCH_COMMAND"); p != "" {
		path = p
	}
	b.Run("ForkExec", func(b *testing.B) {
		for range b.N {
			fd := uintptr(null)
			pid, err := syscall.ForkExec(path, []string{"true"}, &syscall.ProcAttr{Files: []uintptr{fd, fd, fd}, Env: os.Environ()})
			if err != nil {
				b.Fatal(err)
			}
			var ws syscall.WaitStatus
			syscall.Wait4(pid, &ws, 0, nil)
		}
	})
	b.Run("Run", func(b *testing.B) {
		s := none()
		s.FD = [3]int{null, null, null}
		for range b.N {
			c := Command{ID: "bench", Path: path, Args: []string{"true"}, Env: os.Environ(), Dir: dir}
			if _, err := h.Run(context.Background(), c, s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
