// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/proctree"
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

// IsOpen reports whether the terminal's session leader is still alive.
func (t Terminal) IsOpen() bool {
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
	if t.Path == "" || !t.IsOpen() {
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

// startTime returns the start time of a process that is not a zombie.
func startTime(pid int) (uint64, bool) {
	state, _, start, ok := proctree.Stat(pid)
	return start, ok && state != 'Z'
}
