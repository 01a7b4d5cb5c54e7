// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

func (k Keeper) keep(args, env []string, extra []*os.File) int {
	if err := becomeSubreaper(); err != nil {
		return refuse(err)
	}
	defaultSignals()
	sigs := make(chan os.Signal, 8)
	signal.Notify(sigs, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	w, err := startWatcher(args, env, extra)
	for _, f := range extra {
		f.Close()
	}
	if err != nil {
		refuse(fmt.Errorf("start %s: %w", args[0], err))
		if errors.Is(err, fs.ErrNotExist) {
			return 127
		}
		return 126
	}
	for alive := true; alive; {
		select {
		case sig := <-sigs:
			w.Signal(sig.(syscall.Signal))
		case <-w.dead:
			alive = false
		}
	}
	regular := exitedZero(w.leader) // before reapAll, which may reap the watcher at once
	gone := reapAll(w.leader)
	e := treeEnding{find: func() snapshot {
		return newChildLister().snapshot(func(pid int, _ *Child) bool { return !(regular && hasVariable(pid, leaveMarker+"=")) })
	}}
	err = e.run(cmp.Or(k.Grace, DefaultGrace), nil)
	for errors.Is(err, ErrBlind) { // nobody else ends these processes
		err = e.run(0, nil)
	}
	if err != nil {
		return refuse(err)
	}
	ws := <-gone
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// exitedZero reports whether a dead child, which is not reaped yet, exited with 0.
func exitedZero(pid int) bool {
	ch, ok := waitid(unix.P_PID, pid, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
	return ok && ch.waitStatus() == 0
}

// startWatcher starts args[0] in a process group of its own.
func startWatcher(args, env []string, extra []*os.File) (*Child, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	life, err := parentPipe()
	if err != nil {
		return nil, err
	}
	defer unix.Close(life)
	fd := descriptor(null)
	files := []uintptr{uintptr(life), fd, fd}
	for _, f := range extra {
		files = append(files, descriptor(f))
	}
	sp, err := newSpawner(keepPrivileges)
	if err != nil {
		return nil, err
	}
	defer sp.close()
	c := newChild(StartConfig{})
	err = c.start(sp, nil, args[0], args, &syscall.ProcAttr{Env: env, Files: files, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return nil, err
	}
	c.Pid = c.leader
	return c, nil
}

// parentPipe returns the read end of a pipe. The write end stays open as long as this process runs.
func parentPipe() (fd int, err error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return -1, os.NewSyscallError("pipe2", err)
	}
	return pipe[0], nil
}

// descriptor returns the descriptor of f. f.Fd() would make it blocking, also in processes that share it.
func descriptor(f *os.File) (fd uintptr) {
	conn, err := f.SyscallConn()
	if err != nil {
		return ^uintptr(0)
	}
	conn.Control(func(n uintptr) { fd = n })
	return fd
}

// reapAll reaps all children and all processes that become children later. The channel gets the watcher's
// status.
func reapAll(watcher int) <-chan syscall.WaitStatus {
	gone := make(chan syscall.WaitStatus, 1)
	// ends when this process has no child, or with this process, which does not wait for children that it may
	// not signal.
	go func() {
		for {
			ch, ok := waitid(unix.P_ALL, 0, unix.WEXITED|unix.WNOWAIT)
			if !ok {
				return
			}
			children.mu.Lock()
			ws := reap(ch.pid)
			children.mu.Unlock()
			if ch.pid == watcher {
				gone <- ws
			}
		}
	}()
	return gone
}

func refuse(err error) int {
	fmt.Fprintln(os.Stderr, "hostexec:", err)
	return 125
}
