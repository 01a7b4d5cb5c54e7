// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Proc is a process that is held by its pidfd: its end is an event, and its number
// cannot come to mean another.
type Proc struct {
	PID int
	fd  int
}

// hold takes hold of a process of the host. It has to be alive.
func hold(t testing.TB, pid int) *Proc {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("hold process %d: %v", pid, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return &Proc{PID: pid, fd: fd}
}

// Gone reports whether the process ends within d.
func (p *Proc) Gone(d time.Duration) bool {
	deadline := time.Now().Add(d)
	for {
		left := max(time.Until(deadline), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if err != unix.EINTR {
			return n == 1
		}
	}
}

// Ends fails the test unless the process ends within d.
func (p *Proc) Ends(t testing.TB, d time.Duration) {
	t.Helper()
	if !p.Gone(d) {
		t.Errorf("process %d (%s) is still there after %s", p.PID, cmdline(p.PID), d)
	}
}

// Signal sends sig to the process.
func (p *Proc) Signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	check(t, unix.PidfdSendSignal(p.fd, sig, nil, 0))
}

// State is the letter that ps(1) shows: R, S, T ...
func (p *Proc) State() string { return status(p.PID, "State")[:1] }

// status returns a field of /proc/PID/status, or "?".
func status(pid int, field string) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return "?"
}

// statusNum returns a field of /proc/PID/status that begins with a number.
func statusNum(t testing.TB, pid int, field string) int {
	t.Helper()
	first, _, _ := strings.Cut(status(pid, field), " ")
	n, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("%s of process %d: %v", field, pid, err)
	}
	return n
}

func cmdline(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(bytes.TrimSpace(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
}

// processes lists the host's processes whose command line contains all of words.
func processes(words ...string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*")
	for _, f := range files {
		pid, _ := strconv.Atoi(filepath.Base(f))
		if pid != os.Getpid() && containsAll(cmdline(pid), words) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// Watcher returns the watcher of a session, which has to be there.
func (h *Host) Watcher(t testing.TB, session string) *Proc { return h.process(t, " watcher ", session) }

// Keeper returns the keeper of a session, which has to be there.
func (h *Host) Keeper(t testing.TB, session string) *Proc {
	return h.process(t, "hostexec-keeper ", session)
}

func (h *Host) process(t testing.TB, role, session string) *Proc {
	t.Helper()
	pids := processes(role, h.State, session)
	if len(pids) != 1 {
		t.Fatalf("%d processes are the%sof session %s, want 1", len(pids), role, session)
	}
	return hold(t, pids[0])
}

// quiet fails the test unless within d there is no process, no session and no container
// of h's left.
func (h *Host) quiet(t testing.TB, d time.Duration) {
	t.Helper()
	eventually(t, d, "no keeper and no watcher is left", func() bool { return len(processes(h.State)) == 0 })
	eventually(t, d, "no session is left", func() bool { return len(h.Sessions(t)) == 0 })
}

// children lists the children of all threads of a process.
func children(t testing.TB, pid int) (pids []int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	check(t, err)
	for _, f := range files {
		b, _ := os.ReadFile(f) // a thread may have ended
		for _, s := range strings.Fields(string(b)) {
			n, err := strconv.Atoi(s)
			check(t, err)
			pids = append(pids, n)
		}
	}
	return pids
}

// countFiles counts the files and directories below dir.
func countFiles(t testing.TB, dir string) (n int) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(string, os.DirEntry, error) error { n++; return nil }))
	return n
}

// readFile returns the content of a file, or nothing if it does not exist yet.
func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b
}
