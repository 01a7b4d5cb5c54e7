// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervised precedes the id in a supervisor's marker.
const supervised = "."

// supervisor starts a command in its own POSIX session and adopts the orphans of the command's descendants, so that
// all of them stay below this process. It returns when the command has been reaped and no process is left.
func supervisor(path string, args []string) error {
	if err := becomeSubreaper(); err != nil {
		return err
	}
	// Handled, not ignored, so that the command has the default. Only KILL ends a supervisor.
	signal.Notify(noSignals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGALRM, unix.SIGPIPE, unix.SIGCONT)
	pid, err := forkExec(path, args, &syscall.ProcAttr{
		Env:   unsupervised(os.Environ()),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return err
	}
	for fd := range 3 { // a process that writes to the command has to notice its end
		unix.Close(fd)
	}
	writeMessage(msgStarted, uint32(pid))
	adopt(pid)
	return nil
}

// unsupervised returns the environment of the command. The command's own marker is the id alone.
func unsupervised(env []string) []string {
	for i, kv := range env {
		if id, ok := strings.CutPrefix(kv, Marker+"="+supervised); ok {
			env[i] = Marker + "=" + id
		}
	}
	return env
}

// adopt reaps every child, and the command pid once the watcher allows it.
func adopt(pid int) {
	for {
		ch, ok := waitid(unix.P_ALL, 0, unix.WEXITED|unix.WNOWAIT)
		switch {
		case !ok:
			return // no child is left
		case ch.pid == pid:
			writeMessage(msgEnded, uint32(ch.waitStatus()))
			awaitEOF()
			reap(pid)
			unix.Close(controlFD)
		default:
			reap(ch.pid)
		}
	}
}

// startSupervised starts a command under a supervisor that is this program again.
func startSupervised(ctx context.Context, sp *spawner, d *exitWaiter, s StartConfig) (*Child, error) {
	c := newChild(s)
	if err := c.startUnderHelper(ctx, sp, d, asSupervisor, s, s.attr()); err != nil {
		return nil, err
	}
	children.mu.Lock()
	defer children.mu.Unlock()
	c.adopts = true
	return c, nil
}

// supervisorOf returns the pid of the supervisor of the running command pid, or 0.
func supervisorOf(pid int) int {
	children.mu.Lock()
	defer children.mu.Unlock()
	for _, c := range children.byPID {
		if c.adopts && !c.abandoned && c.Pid == pid {
			return c.leader
		}
	}
	return 0
}

// abandonSupervisor gives up the supervisor of a reaped command. From now on it is an orphan like others, recognised by
// its marker.
func (c *Child) abandonSupervisor() {
	children.mu.Lock()
	c.abandoned = true
	children.mu.Unlock()
	c.helper.release()
	<-c.helper.readerDone
	c.helper.conn.Close()
	// ends when the last process of the tree has ended; Parent.End sees to that.
	go c.reapLeader()
}
