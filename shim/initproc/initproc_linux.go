// SPDX-License-Identifier: Apache-2.0

package initproc

import (
	"sync/atomic"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// grace is the time between SIGTERM and SIGKILL.
const grace = 5 * time.Second

// initProcess is the state of the first process.
type initProcess struct {
	host        link
	child       int         // pid and process group of the command
	terminating atomic.Bool // the host has disconnected, or asked to end all processes
}

func run(dir string, env []string) int {
	if syscall.Getpid() != 1 {
		syscall.Write(2, []byte("hostexec: "+Name+" is the first process of a container and no command\n"))
		return failed // outside of a container it would signal all processes
	}
	const setDumpable = 4 // PR_SET_DUMPABLE: other processes of our uid must not get the connection to the host
	syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0)
	r := &initProcess{}
	req, fds, err := r.host.readRequest(dir + Socket)
	if err != nil {
		return failed
	}
	if err := r.start(req, fds, env); err != nil {
		r.host.failed(err)
		return failed
	}
	// Ends with the process.
	go r.listen()
	r.host.reportEnd(r.wait())
	return 0
}

// start starts the command of req with the descriptors fds.
func (r *initProcess) start(req wire.Exec, fds []int, env []string) error {
	attr := &syscall.ProcAttr{Env: env, Files: make([]uintptr, 3), Sys: &syscall.SysProcAttr{Setpgid: true}}
	master := -1
	syscall.Setsid() // fails if the engine has done it already
	if req.Passed != 7 {
		m, slave, err := terminal(req.Winsize)
		if err != nil {
			return startError{"make a terminal", err}
		}
		master = m
		attr.Sys = &syscall.SysProcAttr{Foreground: true, Ctty: slave}
		for i := range attr.Files {
			attr.Files[i] = uintptr(slave)
		}
	}
	rest := fds
	for i := range attr.Files {
		if req.Passed&(1<<i) != 0 {
			attr.Files[i], rest = uintptr(rest[0]), rest[1:]
		}
	}
	if len(req.Env) == 1 {
		syscall.Umask(octal(req.Env[0])) // the engine sets its own
	}
	path, err := lookPath(req.Args[0], variable(env, "PATH"))
	if err != nil {
		return startError{"", err}
	}
	if r.child, err = syscall.ForkExec(path, req.Args[1:], attr); err == syscall.ENOENT {
		return startError{"its interpreter", err} // the program exists: lookPath has checked it
	}
	if err != nil {
		return startError{"", err}
	}
	// Closes the passed descriptors only. The slave of a terminal stays open: otherwise the host would get a hang-up on
	// the master.
	for _, fd := range fds {
		syscall.Close(fd)
	}
	return r.host.started(master)
}

// wait returns the status of the command. If all processes are to end, it first waits for all of them.
func (r *initProcess) wait() (status syscall.WaitStatus) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no child is left
			return status
		case pid != r.child: // an orphan
		case ws.Stopped():
			r.host.send(wire.KindStopped, nil)
		default:
			status = ws
			if !r.terminating.Load() {
				return status
			}
		}
	}
}

// listen handles the host's frames until the connection ends.
func (r *initProcess) listen() {
	pid := r.child // target of the next signal
	for {
		kind, p, err := r.host.next()
		if err != nil || kind != wire.KindSignal {
			break
		}
		switch name := string(p); name {
		case wire.ToCommand:
			pid = r.child
		case wire.ToGroup:
			pid = -r.child
		default:
			if sig := number(name); sig != 0 && syscall.Kill(pid, sig) == syscall.ESRCH {
				syscall.Kill(r.child, sig) // the command moved to another group of its terminal
			}
		}
	}
	r.terminating.Store(true)
	syscall.Kill(-1, syscall.SIGTERM)
	syscall.Kill(-1, syscall.SIGCONT)
	time.Sleep(grace)
	syscall.Kill(-1, syscall.SIGKILL)
}

// number returns the number of a signal that the host may send, or 0.
func number(name string) syscall.Signal {
	for _, f := range wire.Signals {
		if f.Name == name {
			return syscall.Signal(f.Number)
		}
	}
	return 0
}
