// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CurrentTerminal returns the terminal of this process, if it has one.
func CurrentTerminal() Terminal {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return Terminal{}
	}
	defer tty.Close()
	leader, err := unix.Getsid(0)
	if err != nil {
		return Terminal{}
	}
	// /dev/tty is a name in every process. Descriptor 0 of the leader gives the real name.
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", leader))
	if err != nil || !strings.HasPrefix(path, "/dev/") {
		path = ""
	}
	start, ok := startTime(leader)
	if !ok {
		return Terminal{}
	}
	return Terminal{Path: path, Leader: leader, LeaderStart: start}
}

// Open reports whether the terminal's session leader is still alive.
func (t Terminal) Open() bool {
	if t.Leader == 0 {
		return false
	}
	start, ok := startTime(t.Leader)
	return ok && start == t.LeaderStart
}

// Bell writes a BEL byte to the terminal. It never blocks.
func (t Terminal) Bell() { t.write("\a") }

// Say writes a message of hostexec to the terminal, which may be in raw mode. It never blocks.
func (t Terminal) Say(text string) { t.write("\r\n" + text + "\r\n") }

func (t Terminal) write(text string) {
	if t.Path == "" || !t.Open() {
		return
	}
	tty, err := os.OpenFile(t.Path, os.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return // the terminal may belong to another user by now
	}
	defer tty.Close()
	if fi, err := tty.Stat(); err == nil && fi.Mode()&os.ModeCharDevice != 0 {
		io.WriteString(tty, text) // nothing can be done about an error
	}
}

// startTime returns the start time of a process in clock ticks since boot: field 22 of proc_pid_stat(5). The
// name in parentheses before it may contain any byte.
func startTime(pid int) (uint64, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 || string(fields[0]) == "Z" {
		return 0, false
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return start, err == nil
}
