// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// StartConfig describes how a process is started. It has a field for each option.
type StartConfig struct {
	ID        string // of the request, for Marker
	Session   string // for SessionMarker; empty: none
	Path      string // absolute
	Args      []string
	Env       []string
	Dir       int          // descriptor of a directory; 0: this process's own directory
	Files     [3]int       // become 0, 1 and 2; the process gets no others
	TTY       bool         // Files[0] becomes the controlling terminal, under a monitor
	NewPrivs  bool         // setuid programs work
	Confine   func() error // called on a thread that then forks the process and ends; may be nil; not with NewPrivs
	Leave     bool         // the processes that it leaves running outlive this process
	Supervise bool         // the processes that it leaves running stay below a supervisor, with or without the marker; not with TTY or Confine

	mark mark
}

// Parent starts processes that are children of this process, each in a POSIX session
// of its own, and reaps the orphans that they leave.
type Parent struct {
	strict *spawner // with NO_NEW_PRIVS
	exits  *exitWaiter
	reaper sync.WaitGroup
	sigs   chan os.Signal
	token  string // the value of leaveMarker, unknown to all processes that did not get it

	mu       sync.Mutex // guards the fields below
	newPrivs *spawner   // keeps privileges, for NewPrivs; created when it is first needed
	spare    *spawner   // for the next Confine; nil before the first one
	spares   sync.WaitGroup
	leave    bool   // a process got the token
	confined uint64 // processes that were started with Confine
}

// NewParent makes this process a subreaper that starts processes.
func NewParent() (*Parent, error) {
	defaultSignals()
	if err := becomeSubreaper(); err != nil {
		return nil, err
	}
	strict, err := newSpawner(noNewPrivs)
	if err != nil {
		return nil, fmt.Errorf("set NO_NEW_PRIVS: %w", err)
	}
	deaths, err := newExitWaiter()
	if err != nil {
		strict.close()
		return nil, err
	}
	p := &Parent{strict: strict, exits: deaths, sigs: make(chan os.Signal, 1), token: rand.Text()}
	signal.Notify(p.sigs, syscall.SIGCHLD)
	// ends when sigs is closed; Close closes it and waits.
	p.reaper.Go(p.reap)
	return p, nil
}

// Start starts a process. The error wraps the error of the system. If the exec can block, and ctx ends before it,
// Start ends the process, and the error is ctx's cause.
func (p *Parent) Start(ctx context.Context, s StartConfig) (*Child, error) {
	sp, err := p.spawner(s.NewPrivs)
	if s.Confine != nil {
		if s.mark, err = p.newMark(); err != nil {
			return nil, err
		}
		if sp, err = p.takeSpare(); err == nil {
			defer sp.close()
			err = sp.call(s.Confine)
		}
	}
	if err != nil {
		return nil, err
	}
	s.Env = s.marked()
	if s.Leave {
		s.Env = append(s.Env, leaveMarker+"="+p.token)
		p.mu.Lock()
		p.leave = true
		p.mu.Unlock()
	}
	if s.TTY {
		return startMonitored(ctx, sp, p.exits, s)
	}
	if s.Supervise {
		return startSupervised(ctx, sp, p.exits, s)
	}
	if !s.execsAtOnce() {
		return startSlow(ctx, sp, p.exits, s)
	}
	c, attr := newChild(s), s.attr()
	if s.Dir != 0 {
		attr.Dir = procFD(s.Dir)
	}
	if err := c.start(sp, p.exits, s.Path, s.Args, attr); err != nil {
		return nil, err
	}
	c.alone()
	return c, nil
}

// attr returns the attributes with which s is started, without its directory.
func (s *StartConfig) attr() *syscall.ProcAttr {
	return &syscall.ProcAttr{
		Env:   s.Env,
		Files: []uintptr{uintptr(s.Files[0]), uintptr(s.Files[1]), uintptr(s.Files[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
}

func (p *Parent) spawner(newPrivs bool) (*spawner, error) {
	if !newPrivs {
		return p.strict, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.newPrivs == nil {
		sp, err := newSpawner(keepPrivileges)
		if err != nil {
			return nil, err
		}
		p.newPrivs = sp
	}
	return p.newPrivs, nil
}

func (p *Parent) newMark() (mark, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.confined++
	return newMark(p.confined)
}

// takeSpare returns a spawner for one start, which the caller closes. It has the next one made meanwhile, because a new
// thread takes a quarter of the time of a start.
func (p *Parent) takeSpare() (*spawner, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sp := p.spare
	p.spare = nil
	// ends when the thread has started; Close waits for it.
	p.spares.Go(func() {
		next, err := newSpawner(noNewPrivs)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil || p.spare != nil {
			next.close()
			return
		}
		p.spare = next
	})
	if sp != nil {
		return sp, nil
	}
	return newSpawner(noNewPrivs)
}

// End ends all processes that were started, and their descendants: TERM, and KILL after grace. It returns when
// none is left except those that Leave lets stay. These are orphans, so their own call has ended.
func (p *Parent) End(grace time.Duration) error {
	here := posixSession(0)
	e := treeEnding{find: func() snapshot {
		return newChildLister().snapshot(func(pid int, c *Child) bool {
			if c != nil && c.helper != nil {
				c.helper.release()
			}
			return posixSession(pid) != here && !(c == nil && p.stays(pid))
		})
	}}
	return e.run(grace, nil)
}

// stays reports whether an orphan was left by a process that was started with Leave.
func (p *Parent) stays(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leave && hasVariable(pid, leaveMarker+"="+p.token)
}

// Close stops reaping. Nothing may be started any more, and every Child was reaped.
func (p *Parent) Close() error {
	signal.Stop(p.sigs)
	close(p.sigs)
	p.reaper.Wait()
	p.exits.close()
	p.strict.close()
	p.spares.Wait()
	for _, sp := range []*spawner{p.newPrivs, p.spare} {
		if sp != nil {
			sp.close()
		}
	}
	return nil
}

// marked returns the environment with the markers of this start, without those of other starts.
func (s *StartConfig) marked() []string {
	list := make([]string, 0, len(s.Env)+3)
	for _, kv := range s.Env {
		if name, _, _ := strings.Cut(kv, "="); name != Marker && name != SessionMarker && name != leaveMarker {
			list = append(list, kv)
		}
	}
	id := s.ID
	if s.Supervise { // of the supervisor, which is a part of the command and not one of its own
		id = supervised + id
	}
	list = append(list, Marker+"="+id)
	if s.Session != "" {
		list = append(list, SessionMarker+"="+s.Session)
	}
	return list
}
