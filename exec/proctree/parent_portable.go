// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package proctree

import (
	"cmp"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Parent starts processes that are children of this process, each in a session of its own.
// Orphans that they leave are the system's to reap.
type Parent struct {
	home   int // the directory that this process is in
	sigs   chan os.Signal
	reaper sync.WaitGroup
}

// children are the processes that a Parent forked, and what they have left.
var children struct {
	mu    sync.Mutex // guards the fields below; held while forking and reaping
	byPID map[int]*Child
	left  []*Child // reaped, and not known to have left nothing
}

var errTerminal = errors.New("a terminal of the host's is not supported on this system")

// NewParent prepares this process to start others.
func NewParent() (*Parent, error) {
	defaultSignals()
	home, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open .", err)
	}
	p := &Parent{home: home, sigs: make(chan os.Signal, 1)}
	signal.Notify(p.sigs, syscall.SIGCHLD)
	// ends when sigs is closed; Close closes it and waits.
	p.reaper.Go(func() {
		for range p.sigs {
			reapChildren()
		}
	})
	return p, nil
}

// Start starts a process. The error wraps the system's own.
func (p *Parent) Start(s Start) (*Child, error) {
	if s.TTY {
		return nil, errTerminal
	}
	env := marked(s.Env, s.ID)
	if kept := os.Getenv(keptMarker); kept != "" {
		env = append(env, keptMarker+"="+kept)
	}
	if s.Leave {
		env = append(env, LeaveMarker+"=1")
	}
	attr := &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{uintptr(s.Files[0]), uintptr(s.Files[1]), uintptr(s.Files[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	children.mu.Lock() // or the reaper could miss it
	defer children.mu.Unlock()
	// A held directory has no name here that leads to it for sure: the child inherits it. All
	// else that this process does, it does by absolute paths.
	if s.Dir != 0 {
		if err := unix.Fchdir(s.Dir); err != nil {
			return nil, os.NewSyscallError("fchdir", err)
		}
		defer unix.Fchdir(p.home)
	}
	pid, err := forkExec(s.Path, s.Args, attr)
	if err != nil {
		return nil, err
	}
	row, _ := find(pid)
	c := &Child{Pid: pid, id: s.ID, leave: s.Leave, done: make(chan struct{}), stopped: make(chan struct{}, 1)}
	c.trace = newTrace(Marker+"="+s.ID, member{pid, row.start}, true)
	if children.byPID == nil {
		children.byPID = map[int]*Child{}
	}
	children.byPID[pid] = c
	return c, nil
}

// End ends every process that was started and everything that is known to descend from one:
// TERM, KILL after grace. What Leave lets stay stays, once its own call has ended.
func (p *Parent) End(grace time.Duration) error {
	e := ending{look: func() sight {
		return survey(func(c *Child, reaped bool) bool { return !(reaped && c.leave) })
	}}
	return e.run(grace, nil)
}

// Close stops reaping. Nothing may be started any more, and every Child was reaped.
func (p *Parent) Close() error {
	signal.Stop(p.sigs)
	close(p.sigs)
	p.reaper.Wait()
	return unix.Close(p.home)
}

// survey looks at the trees of those children that match, in one look.
func survey(match func(c *Child, reaped bool) bool) sight {
	all, s := processes(), sight{dead: map[int]bool{}}
	for _, c := range family(match) {
		one := c.trace.lookIn(all, true)
		s.alive = append(s.alive, one.alive...)
		for pid := range one.dead {
			s.dead[pid] = true
		}
	}
	return s
}

// family returns the children that match.
func family(match func(c *Child, reaped bool) bool) (list []*Child) {
	children.mu.Lock()
	defer children.mu.Unlock()
	children.left = slices.DeleteFunc(children.left, func(c *Child) bool { return c.trace.over() })
	for _, c := range children.byPID {
		if match(c, false) {
			list = append(list, c)
		}
	}
	for _, c := range children.left {
		if match(c, true) {
			list = append(list, c)
		}
	}
	return list
}

func leftOf(id string) func() sight {
	return func() sight {
		return survey(func(c *Child, reaped bool) bool { return reaped && c.id == id })
	}
}

func lingers(id string) bool { return len(leftOf(id)().alive) > 0 }

func endLeft(id string, grace time.Duration) (was bool, err error) {
	look := leftOf(id)
	e := ending{look: func() sight {
		s := look()
		was = was || len(s.alive) > 0
		return s
	}}
	return was, e.run(grace, nil)
}

func allLeft() (all []Left) {
	table := processes()
	for _, c := range family(func(_ *Child, reaped bool) bool { return reaped }) {
		alive := c.trace.lookIn(table, true).alive
		if len(alive) == 0 {
			continue
		}
		oldest := slices.MinFunc(alive, func(a, b member) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
		})
		args, _ := words(oldest.pid)
		all = append(all, Left{ID: c.id, PID: oldest.pid, Args: args, Since: oldest.since(), Count: len(alive)})
	}
	return all
}

func treeOf(id string) (pids []int) {
	for _, m := range survey(func(c *Child, _ bool) bool { return c.id == id }).alive {
		pids = append(pids, m.pid)
	}
	return pids
}

// endLost knows them by their markers alone.
func endLost(ids []string, grace time.Duration) (was bool, err error) {
	mine := os.Getenv(Marker) // this process may be one of them: it does not end itself
	var traces []*trace
	for _, id := range ids {
		if id != mine {
			traces = append(traces, newTrace(Marker+"="+id, member{}, false))
		}
	}
	if len(traces) == 0 {
		return false, nil
	}
	e := ending{look: func() sight {
		all, s := processes(), sight{dead: map[int]bool{}}
		for _, t := range traces {
			s.alive = append(s.alive, t.lookIn(all, true).alive...)
		}
		was = was || len(s.alive) > 0
		return s
	}}
	return was, e.run(grace, nil)
}

// called reports whether env is that of a command that was started for a call.
func called(env []string) bool {
	return slices.ContainsFunc(env, func(kv string) bool {
		return strings.HasPrefix(kv, Marker+"=") || strings.HasPrefix(kv, keptMarker+"=")
	})
}
