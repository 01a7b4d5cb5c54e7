// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// failedOpens counts the files of /proc that may exist, but could not be opened: this process could have no more
// descriptors, or the kernel had no memory. A snapshot during which it grows may lack processes.
var failedOpens atomic.Uint64

func countFailedOpen(err error) {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) {
		failedOpens.Add(1)
	}
}

// stat holds the fields of /proc/PID/stat that are used here.
type stat struct {
	state   byte
	ppid    int
	threads int
	start   uint64
	exiting bool // its only thread is on the way out: the kernel closes its files now
}

// pfExiting is the kernel's PF_EXITING, in the flags of proc_pid_stat(5).
const pfExiting = 0x4

// alive reports whether a process still runs: a zombie does if it is only the first
// thread that ended.
func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' || s.threads > 1 }

func alive(pid int) bool {
	s, ok := readStat(pid)
	return ok && s.alive()
}

func readStat(pid int) (s stat, ok bool) {
	text := readProcFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name, which the process chooses, is in parentheses and may contain some.
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return s, false
	}
	f := bytes.Fields(text[i+1:]) // from the third field of proc_pid_stat(5) on
	if len(f) < 20 {
		return s, false
	}
	s.state = f[0][0]
	s.ppid, _ = strconv.Atoi(string(f[1]))
	s.threads, _ = strconv.Atoi(string(f[17]))
	s.start, _ = strconv.ParseUint(string(f[19]), 10, 64)
	flags, _ := strconv.ParseUint(string(f[6]), 10, 32)
	s.exiting = flags&pfExiting != 0 && s.threads <= 1
	return s, true
}

// Stat returns the state, the parent and the start time of a process: fields 3, 4 and 22 of proc_pid_stat(5).
func Stat(pid int) (state byte, parent int, start uint64, ok bool) {
	s, ok := readStat(pid)
	return s.state, s.ppid, s.start, ok
}

// readProcFile returns the content of a file of /proc, or nothing if the file is gone. os.ReadFile would first
// register the file with the poller.
func readProcFile(name string) []byte {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		countFailedOpen(err)
		return nil
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 512)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return b
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

func dirNames(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		countFailedOpen(err)
		return nil
	}
	defer f.Close()
	list, _ := f.Readdirnames(-1) // the entries that were listed before it vanished are enough
	return list
}
