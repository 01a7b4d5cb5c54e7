// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Here returns the terminal of this process, if it has one.
func Here() Terminal {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return Terminal{}
	}
	defer tty.Close()
	leader, err := unix.Getsid(0)
	if err != nil {
		return Terminal{}
	}
	// /dev/tty is every process's own: its name is found at the leader, who has it on 0.
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", leader))
	if err != nil || !strings.HasPrefix(path, "/dev/") {
		path = ""
	}
	born, ok := birth(leader)
	if !ok {
		return Terminal{}
	}
	return Terminal{Path: path, Leader: leader, Born: born}
}

// Open reports whether the terminal is still there: its session's leader lives.
func (t Terminal) Open() bool {
	if t.Leader == 0 {
		return false
	}
	born, ok := birth(t.Leader)
	return ok && born == t.Born
}

// Ring rings the terminal's bell. It writes that one byte and never waits.
func (t Terminal) Ring() {
	if t.Path == "" || !t.Open() {
		return
	}
	tty, err := os.OpenFile(t.Path, os.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return // it is somebody else's by now
	}
	defer tty.Close()
	if fi, err := tty.Stat(); err == nil && fi.Mode()&os.ModeCharDevice != 0 {
		tty.Write([]byte{'\a'}) // a bell that does not ring has no remedy
	}
}

// birth is when a process was started, in clock ticks after boot: field 22 of
// proc_pid_stat(5). What stands in parentheses before may hold anything.
func birth(pid int) (uint64, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 || string(fields[0]) == "Z" {
		return 0, false
	}
	born, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return born, err == nil
}
