// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner forks from its own locked thread. A child inherits the signal mask, NO_NEW_PRIVS and the sandbox of the
// thread that forked it. The runtime starts no thread from a locked one, so the rest of the process does not change.
type spawner struct {
	calls chan threadCall
	done  chan struct{} // closed when the thread ends
}

// threadCall is a function to call on the thread of a spawner.
type threadCall struct {
	call   func() error
	last   bool // the thread ends afterwards
	result chan<- error
}

// newSpawner starts a thread that calls prepare before it forks anything.
func newSpawner(prepare func() error) (*spawner, error) {
	s := &spawner{calls: make(chan threadCall), done: make(chan struct{})}
	ready := make(chan error)
	// ends when calls is closed, or after the last call; close waits for it.
	go s.run(prepare, ready)
	return s, <-ready
}

func (s *spawner) run(prepare func() error, ready chan<- error) {
	runtime.LockOSThread() // for ever: a goroutine that ends locked takes its thread along
	if unix.Gettid() == unix.Getpid() {
		// The first thread represents the process, in /proc and to other processes; it stays as it is. While it is
		// locked here the goroutine below gets another one.
		defer runtime.UnlockOSThread()
		inner := make(chan error)
		// ends as this one would have.
		go s.run(prepare, inner)
		ready <- <-inner
		return
	}
	defer close(s.done)
	err := unblock()
	if err == nil {
		err = prepare()
	}
	ready <- err
	for c := range s.calls {
		c.result <- c.call()
		if c.last {
			return
		}
	}
}

// noNewPrivs keeps setuid programs from gaining privileges, in what the calling thread forks.
func noNewPrivs() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// keepPrivileges lets setuid programs work.
func keepPrivileges() error { return nil }

// start starts a process with the mark m, and calls after before anyone can reap it. The thread that starts a marked
// process has the same sandbox as the process. So the process could trace or signal the thread, and thus this process.
// So the thread ends at once. Until then, sandbox.Confine prevents both.
func (s *spawner) start(path string, args []string, attr *syscall.ProcAttr, m mark, after func(pid int)) error {
	children.mu.Lock() // or the reaper could meet a child before it is known
	defer children.mu.Unlock()
	var pid int
	err := m.inherited(func() error {
		return s.do(m != 0, func() (err error) {
			pid, err = forkExec(path, args, attr)
			return err
		})
	})
	if err == nil {
		after(pid)
	}
	return err
}

// call calls f on the thread.
func (s *spawner) call(f func() error) error { return s.do(false, f) }

func (s *spawner) do(last bool, f func() error) error {
	result := make(chan error, 1)
	s.calls <- threadCall{f, last, result}
	return <-result
}

func (s *spawner) close() {
	close(s.calls)
	<-s.done
}

// unblock empties the signal mask of the calling thread. syscall.ForkExec gives a child
// the mask that the forking thread has, whatever the process was started with.
func unblock() error {
	return unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
}

// forkExec starts a process.
func forkExec(path string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	err = execute(path, args, func(path string, args []string) (err error) {
		pid, err = syscall.ForkExec(path, args, attr)
		return err
	})
	return pid, err
}

// execute executes a program by exec. Like execvp(3) and every shell, it has /bin/sh run a file that
// the kernel cannot execute: a script without #!.
func execute(path string, args []string, exec func(path string, args []string) error) error {
	err := exec(path, args)
	if err != syscall.ENOEXEC {
		return err
	}
	return exec("/bin/sh", append([]string{"/bin/sh", path}, args[min(1, len(args)):]...))
}
