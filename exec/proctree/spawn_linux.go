// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner forks from its own locked thread. A child inherits the signal mask and NO_NEW_PRIVS of the thread
// that forked it. The runtime starts no thread from a locked one, so the rest of the process does not change.
type spawner struct {
	requests chan *forkRequest
	done     chan struct{} // closed when the thread ends
	tid      int           // of the thread
}

// forkRequest is one process to start, or a function to call, and the result.
type forkRequest struct {
	call  func() error // instead of a start
	path  string
	args  []string
	attr  *syscall.ProcAttr
	after func(pid int) // called with children locked

	err  error
	done chan struct{}
}

// newSpawner starts a thread that calls prepare before it forks anything.
func newSpawner(prepare func() error) (*spawner, error) {
	s := &spawner{requests: make(chan *forkRequest), done: make(chan struct{})}
	ready := make(chan error)
	// ends when orders is closed; close waits for it.
	go s.run(prepare, ready)
	return s, <-ready
}

func (s *spawner) run(prepare func() error, ready chan<- error) {
	runtime.LockOSThread() // for ever: a goroutine that ends locked takes its thread along
	if unix.Gettid() == unix.Getpid() {
		// The first thread stands for the process, in /proc and to whoever asks; it stays
		// as it is. While it is locked here the goroutine below gets another one.
		defer runtime.UnlockOSThread()
		inner := make(chan error)
		// ends as this one would have.
		go s.run(prepare, inner)
		ready <- <-inner
		return
	}
	defer close(s.done)
	s.tid = unix.Gettid()
	err := unblock()
	if err == nil {
		err = prepare()
	}
	ready <- err
	for o := range s.requests {
		if o.call != nil {
			o.err = o.call()
			close(o.done)
			continue
		}
		children.mu.Lock() // or the reaper could meet a child before it is known
		var pid int
		if pid, o.err = forkExec(o.path, o.args, o.attr); o.err == nil {
			o.after(pid)
		}
		children.mu.Unlock()
		close(o.done)
	}
}

// noNewPrivs keeps setuid programs from gaining privileges, in what the calling thread forks.
func noNewPrivs() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// keepPrivileges lets setuid programs work.
func keepPrivileges() error { return nil }

// start starts a process and calls after before anyone can reap it.
func (s *spawner) start(path string, args []string, attr *syscall.ProcAttr, after func(pid int)) error {
	return s.do(&forkRequest{path: path, args: args, attr: attr, after: after})
}

// call calls f on the thread.
func (s *spawner) call(f func() error) error { return s.do(&forkRequest{call: f}) }

func (s *spawner) do(o *forkRequest) error {
	o.done = make(chan struct{})
	s.requests <- o
	<-o.done
	return o.err
}

func (s *spawner) close() {
	close(s.requests)
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
