// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Running is a call whose command runs, or is being started.
type Running struct {
	Request string
	Args    []string
	Dir     string // on the host; of a shell in a container: CONTAINER:DIR
	PID     int    // on the host; 0 before the start, and if no single process on the host is the command
	Since   time.Time
	ByHost  bool // the person at the host runs it: the container does not see it
}

// runningCalls holds the running calls by request id.
type runningCalls struct {
	mu    sync.Mutex // guards the field below
	calls map[string]*runningCall
}

// runningCall is a running call, and what ends it.
type runningCall struct {
	Running
	kill context.CancelCauseFunc
	done chan struct{} // closed when it has ended
}

// errKilled is the cause of a command that a person has ended. errKilledByContainer wraps it.
var errKilled = errors.New("a person ended it")

// errKilledByContainer is the cause of a command that hostexec kill in the container has ended.
var errKilledByContainer error = killedByContainer{}

type killedByContainer struct{}

func (killedByContainer) Error() string { return "hostexec kill ended it" }
func (killedByContainer) Unwrap() error { return errKilled }

// running returns the description of r while its command runs in dir.
func (r *request) running(dir string, pid int) Running {
	return Running{Request: r.ID, Args: r.Args, Dir: dir, PID: pid}
}

// set notes that r runs from now on, or its pid if that was noted before.
func (t *runningCalls) set(r Running, kill context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil {
		t.calls = map[string]*runningCall{}
	}
	e, runs := t.calls[r.Request]
	if !runs {
		r.Since = time.Now()
		e = &runningCall{r, kill, make(chan struct{})}
		t.calls[r.Request] = e
	}
	e.PID = r.PID
}

func (t *runningCalls) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, runs := t.calls[id]; runs {
		close(e.done)
		delete(t.calls, id)
	}
}

// list returns the calls whose commands run now, oldest first.
func (t *runningCalls) list() []Running {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Running, 0, len(t.calls))
	for _, r := range t.calls {
		all = append(all, r.Running)
	}
	slices.SortFunc(all, func(a, b Running) int { return a.Since.Compare(b.Since) })
	return all
}

// kill ends the command that runs for request. Its caller gets the cause.
func (t *runningCalls) kill(request string, cause error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, runs := t.calls[request]
	if runs {
		r.kill(cause)
	}
	return runs
}

// interruptText ends the text that the person at the host runs for request.
func (t *runningCalls) interruptText(request string, cause error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, runs := t.calls[request]
	if !runs || !r.ByHost {
		return false
	}
	r.kill(cause)
	return true
}

// Running returns the calls whose commands run or are being started, oldest first.
func (s *Server) Running() []Running { return s.running.list() }

// Kill ends the process tree of the command that runs for request. Its caller learns of the signal. Kill
// reports whether there is such a command, and does not wait.
func (s *Server) Kill(request string) bool { return s.running.kill(request, errKilled) }
