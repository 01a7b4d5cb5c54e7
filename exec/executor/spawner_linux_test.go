// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// spawnerMain attacks the thread that started this program, and prints the attacks that succeed.
func spawnerMain() int {
	tid, err := strconv.Atoi(os.Getenv("THREAD"))
	if err != nil {
		return 1
	}
	raw := func(number uintptr, args ...uintptr) error {
		args = append(args, make([]uintptr, 4)...)
		if _, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], 0, 0); errno != 0 {
			return errno
		}
		return nil
	}
	var info [128]byte // a siginfo_t of a signal that the caller makes up
	info[8] = 0xff     // si_code is negative
	siginfo := uintptr(unsafe.Pointer(&info))
	task := fmt.Sprintf("/proc/%d/task/%d/", os.Getppid(), tid)
	read := func(name string) func() error {
		return func() error { _, err := os.ReadFile(task + name); return err }
	}
	for name, attack := range map[string]func() error{
		"kill":            func() error { return unix.Kill(tid, 0) },
		"tkill":           func() error { return raw(unix.SYS_TKILL, uintptr(tid), 0) },
		"tgkill":          func() error { return unix.Tgkill(os.Getppid(), tid, 0) },
		"rt_sigqueueinfo": func() error { return raw(unix.SYS_RT_SIGQUEUEINFO, uintptr(tid), uintptr(unix.SIGURG), siginfo) },
		"rt_tgsigqueueinfo": func() error {
			return raw(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(os.Getppid()), uintptr(tid), uintptr(unix.SIGURG), siginfo)
		},
		"pidfd_send_signal": func() error {
			fd, err := unix.Open("/proc/"+strconv.Itoa(tid), unix.O_DIRECTORY|unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return unix.PidfdSendSignal(fd, 0, nil, 0)
		},
		"F_SETSIG": func() error { _, err := unix.FcntlInt(0, unix.F_SETSIG, int(unix.SIGKILL)); return err },
		"environ":  read("environ"), "maps": read("maps"), "auxv": read("auxv"),
		"mem":         func() error { f, err := os.Open(task + "mem"); f.Close(); return err },
		"descriptors": func() error { _, err := os.Readlink(task + "fd/0"); return err },
	} {
		if attack() == nil {
			fmt.Print(name, " ")
		}
	}
	return 0
}

// TestConfinedSpawner runs a program that attacks the confined thread that started it, while the thread still exists. A
// signal to the thread would end this process. By the thread's files in /proc, the program could read the memory and the
// environment of this process.
//
// Attack 239.
func TestConfinedSpawner(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := c.sandbox(t, sandbox.Net{})
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go onOtherThread(func() { // ends after the program
		m, err := s.Confine()
		if err != nil {
			done <- result{err: err}
			return
		}
		served := make(chan error, 1)
		go func() { served <- m.Serve() }() // ends when m is closed, below
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "EXECUTOR_TEST_AS=spawner", "THREAD="+strconv.Itoa(unix.Gettid()))
		out, err := cmd.CombinedOutput()
		err = errors.Join(err, m.Close())
		<-served
		done <- result{string(out), err}
	})
	if r := <-done; r.err != nil || strings.TrimSpace(r.out) != "" {
		t.Errorf("not refused: %q, %v", r.out, r.err)
	}
}

// onOtherThread calls f on a thread that is not the first thread of this process, and ends that thread.
func onOtherThread(f func()) {
	runtime.LockOSThread() // for ever: a goroutine that ends locked takes its thread along
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	defer runtime.UnlockOSThread()
	other := make(chan struct{})
	// ends with f. It gets another thread, because this one is locked.
	go func() { defer close(other); onOtherThread(f) }()
	<-other
}
