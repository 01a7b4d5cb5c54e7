// SPDX-License-Identifier: Apache-2.0

//go:build portable

package proctree

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processes returns all that there are, one after the other.
func processes() (all []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := find(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// find returns process pid.
func find(pid int) (p process, ok bool) {
	folder := "/proc/" + strconv.Itoa(pid)
	text, err := os.ReadFile(folder + "/stat")
	// The name, which the process chooses, is in parentheses and may contain some.
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // from the third field of proc_pid_stat(5) on
	var st unix.Stat_t
	if err != nil || len(f) < 20 || unix.Stat(folder, &st) != nil {
		return p, false
	}
	p.pid, p.uid = pid, int(st.Uid)
	p.zombie = f[0][0] == 'Z' || f[0][0] == 'X'
	p.ppid, _ = strconv.Atoi(string(f[1]))
	p.sid, _ = strconv.Atoi(string(f[3]))
	p.start, _ = strconv.ParseUint(string(f[19]), 10, 64)
	return p, true
}

// since is when m was started: the kernel counts hundredths of a second from when it was.
func (m member) since() time.Time {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return time.Now()
	}
	return time.Now().Add(-max(0, time.Duration(now.Nano())-time.Duration(m.start+1)*10*time.Millisecond))
}

// Catches reports whether a process has a handler for a signal.
func Catches(pid int, sig syscall.Signal) bool {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for line := range strings.Lines(string(status)) {
		if mask, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			set, _ := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return set&(1<<(sig-1)) != 0
		}
	}
	return false
}

// words returns the arguments and the environment that a process was started with.
func words(pid int) (args, env []string) {
	read := func(name string) []string {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + name)
		if len(b) == 0 {
			return nil
		}
		return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	}
	return read("cmdline"), read("environ")
}
