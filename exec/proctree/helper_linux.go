// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// The tasks of a helper. The task is its second argument.
const (
	asMonitor    = "monitor"    // of a command on a terminal
	asSupervisor = "supervisor" // supervise a command whose descendants stay below it
	asCommand    = "command"    // it becomes the command
)

// dirFD is a helper's descriptor of the command's directory, if it has one.
const dirFD = controlFD + 1

// runHelper is Helper.
func runHelper(args []string) int {
	if len(args) < 5 {
		return refuse(errors.New("the helper is no command of its own"))
	}
	runtime.LockOSThread()
	unix.CloseOnExec(controlFD)
	start := become
	switch args[1] {
	case asMonitor:
		start = monitor
	case asSupervisor:
		start = supervisor
	}
	var err error
	if dir := args[2]; dir != "" {
		err = unix.Chdir(dir)
		unix.CloseOnExec(dirFD)
	}
	if err == nil {
		err = start(args[3], args[4:])
	}
	if err != nil {
		errno := syscall.EINVAL
		errors.As(err, &errno)
		writeMessage(msgFailed, uint32(errno))
		return 127
	}
	return 0
}

// startHelper starts this program again, with a socket to the watcher and the directory of s. Its exec does not block,
// so no lock is held for long.
func (c *Child) startHelper(sp *spawner, d *exitWaiter, as string, s StartConfig, attr *syscall.ProcAttr) (*helperLink, error) {
	link, theirs, err := newLink()
	if err != nil {
		return nil, err
	}
	attr.Files = append(attr.Files, uintptr(theirs))
	dir := "" // the working directory stays this process's
	if s.Dir != 0 {
		dir = procFD(dirFD)
		attr.Files = append(attr.Files, uintptr(s.Dir))
	}
	if as != asCommand {
		c.helper = link // before others can see c
	}
	err = c.start(sp, d, "/proc/self/exe", append([]string{HelperName, as, dir, s.Path}, s.Args...), attr)
	unix.Close(theirs)
	if err != nil {
		link.conn.Close()
		return nil, err
	}
	return link, nil
}

// startSlow starts a command whose exec may block on a file system or a lease: this program is started again
// and becomes the command. Other commands can start at the same time.
func startSlow(ctx context.Context, sp *spawner, d *exitWaiter, s StartConfig) (*Child, error) {
	c := newChild(s)
	link, err := c.startHelper(sp, d, asCommand, s, s.attr())
	if err != nil {
		return nil, err
	}
	c.alone()
	if _, err := link.started(ctx); !errors.Is(err, io.EOF) { // an exec closes the other end
		c.giveUp(link)
		return nil, err
	}
	link.conn.Close()
	return c, nil
}

// giveUp ends a process that has not become a command.
func (c *Child) giveUp(link *helperLink) {
	link.conn.Close()
	if c.End(0) != nil {
		go c.reapLeader() // ends when the kernel ends the process
		return
	}
	c.reapLeader()
}

// become makes this process the command, or returns the reason why it cannot.
func become(path string, args []string) error {
	return execute(path, args, func(path string, args []string) error { return syscall.Exec(path, args, os.Environ()) })
}
