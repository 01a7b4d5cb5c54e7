// SPDX-License-Identifier: Apache-2.0

package room

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// grace is how long what is asked to end may take.
const grace = 5 * time.Second

// room is one container's life.
type room struct {
	host   link
	child  int         // the command's pid, and its group's
	ending atomic.Bool // the host has gone, or wants it all to end
}

func run(dir string, env []string) int {
	if syscall.Getpid() != 1 {
		syscall.Write(2, []byte("hostexec: "+Name+" is the first process of a container and no command\n"))
		return failed // it signals all that it sees
	}
	closed() // whoever shares our uid
	r := &room{}
	req, fds, err := r.host.meet(dir + Socket)
	if err != nil {
		return failed
	}
	if err := r.start(req, fds, env); err != nil {
		r.host.failed(err)
		return failed
	}
	// ends with the process.
	go r.listen()
	r.host.ended(r.wait())
	return 0
}

// closed keeps other processes from looking into this one, which they could as its equals:
// the connection to the host is its alone.
func closed() {
	const setDumpable = 4 // PR_SET_DUMPABLE
	syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0)
}

// start starts the command of req with fds as those descriptors that came along.
func (r *room) start(req wire.Exec, fds []int, env []string) error {
	attr := &syscall.ProcAttr{Env: env, Files: make([]uintptr, 3), Sys: &syscall.SysProcAttr{Setpgid: true}}
	master := -1
	syscall.Setsid() // it fails where the engine has seen to it
	if req.Passed != 7 {
		m, slave, err := terminal(req.Winsize)
		if err != nil {
			return problem{"make a terminal", err}
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
		syscall.Umask(octal(req.Env[0])) // the engine has one of its own
	}
	path, err := look(req.Args[0], variable(env, "PATH"))
	if err != nil {
		return problem{"", err}
	}
	if r.child, err = syscall.ForkExec(path, req.Args[1:], attr); err == syscall.ENOENT {
		return problem{"its interpreter", err} // look has seen the program
	}
	if err != nil {
		return problem{"", err}
	}
	// A terminal stays open: the host would take its end for the command's, and hang up.
	for _, fd := range fds {
		syscall.Close(fd)
	}
	return r.host.started(master)
}

// wait returns how the command ended: at once, or, if all is to end, when all has.
func (r *room) wait() (status syscall.WaitStatus) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // nobody is left
			return status
		case pid != r.child: // an orphan
		case ws.Stopped():
			r.host.send(wire.KindStopped, nil)
		default:
			status = ws
			if !r.ending.Load() {
				return status
			}
		}
	}
}

// listen does what the host says, until there is no host.
func (r *room) listen() {
	pid := -r.child // who gets the next signal: the group, if the host does not say
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
				syscall.Kill(r.child, sig) // it moved to another group of its terminal's
			}
		}
	}
	r.ending.Store(true)
	syscall.Kill(-1, syscall.SIGTERM)
	syscall.Kill(-1, syscall.SIGCONT)
	time.Sleep(grace)
	syscall.Kill(-1, syscall.SIGKILL)
}

// number returns the signal of that name, of those that the host may send, or 0.
func number(name string) syscall.Signal {
	for _, f := range wire.Signals {
		if f.Name == name {
			return syscall.Signal(f.Number)
		}
	}
	return 0
}

// link is the connection to the host.
type link struct {
	fd int
	mu sync.Mutex // held while a frame is sent
}
