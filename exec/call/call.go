// SPDX-License-Identifier: Apache-2.0

// Package call serves one call of a shim: it hears the request, has it decided, writes
// it down, runs it and answers.
//
//	shim --frames--> peer --Streams--> executor
//	     <--frames--      <--Status---
//
// Its one law: success is only ever an explicit Exit frame that tells what the command
// did; whatever breaks the stream ends the whole tree that the call started. It knows
// neither the carrier that brought the call nor the Docker that made the container.
package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
	"github.com/docker-hostexec/hostexec/exec/shell"
)

// Runner runs a command: on the host, or in a container.
type Runner interface {
	Run(context.Context, executor.Command, executor.Streams) (executor.Status, error)
}

// SessionState is what a call depends on and a session may change while it lives: the
// container gets its name after the watcher is up, and its mounts with each start.
type SessionState struct {
	Session   string
	Project   string // base name of the directory where the session was started
	Branch    string // of git there, when the scene was set; empty outside of git
	Container string // its name, for texts
	Agent     string // what runs there, if the host knows
	Policy    *policy.Policy
	Audit     *audit.Log
	Dirs      *mount.Table
	Home      string   // where the container works unless it says something else; empty: /
	PassEnv   []string // names that the container may set
	NewPrivs  bool

	Environ []string                                 // of every command: of the host, without what Dirs supplies
	Find    func(name string) (path string, ok bool) // finds what only the policy names; nil finds nothing
	Scratch string                                   // a directory for copies, which no container can reach

	Recordings string // a directory for what commands write

	// Elsewhere returns what runs commands in a place that is not the host, for a caller
	// in cwd, and what cwd is called there. The directory copies, unless it is empty, is
	// there too. Nil: there is no such place.
	Elsewhere func(place policy.Place, cwd, copies string) (r Runner, at string, err error)

	// Confined returns the sandbox for a command that a verdict puts into one, closed by the caller, and the
	// environment that it begins with. Nil: there are no sandboxes.
	Confined func(v policy.Verdict) (s *sandbox.Sandbox, environ []string, err error)

	// Inside returns the running container of that name, and of no other, for a shell to live
	// in. Nil: there is none.
	Inside func(ctx context.Context, name string) (shell.Container, error)

	programs *programs // those that were looked at
}

// Server serves the calls of one session. Set its fields before the first Serve.
type Server struct {
	Version string
	Verbs   Verbs // answers hostexec ps and others; nil has none
	Runner  Runner
	Queue   *approval.Queue // of the questions that policy has
	Log     *slog.Logger
	Environ []string    // of this process: what the policy passes of it to commands in containers
	Jobs    *job.Table  // those of the session; nil has none
	Shells  *shell.Pool // of the session; nil has none
	Limits  limit.Session
	Memory  func(argv int64) // is told how many bytes long requests hold, by any goroutine; nil is told nothing
	// Refresh is called before each decision, by any goroutine. It may call SetScene: what
	// the policy was made of may have changed. Nil is nothing.
	Refresh func()

	state        atomic.Pointer[SessionState]
	stateChanged broadcast
	newConns     connLimiter
	running      table
	owned        owned
	ongoing      sync.WaitGroup // jobs, and the patrol
	calls        atomic.Int64
	counter      processCounter
	refused      refusals
	asked        limit.TokenBucket // of questions that are written down
	copied       atomic.Int64      // bytes of operands, as long as their calls last
	turns        turns
}

// SetState changes what later calls depend on, and has those that wait for a person decided
// again.
func (s *Server) SetState(sc *SessionState) {
	sc.programs = &programs{} // what Dirs says of one may have changed
	s.state.Store(sc)
	s.stateChanged.notify()
}

// State returns what SetScene set last, or nil.
func (s *Server) State() *SessionState { return s.state.Load() }

// now returns what a decision depends on at this moment, or nil before there is any.
func (s *Server) now() *SessionState {
	if s.Refresh != nil {
		s.Refresh()
	}
	return s.state.Load()
}

// Calls returns how many commands were started so far.
func (s *Server) Calls() int { return int(s.calls.Load()) }

var (
	errHungUp         = errors.New("the caller went away")
	errTooLong        = errors.New("it took longer than the policy lets it")
	errCallerDeadline = errors.New("it took longer than its caller has time")
	errNoSession      = errors.New("no session is set up yet")

	// ErrNoRequest comes of a connection that never made a request. There may be any number.
	ErrNoRequest = errors.New("no request was heard")
)

// Serve answers one call and closes conn. It returns when the command has ended, or,
// if the caller hangs up first, when everything that the command started has ended. A job
// that it starts goes on until session ends, and one that is kept until life does, of which
// session is a part: Wait returns then.
func (s *Server) Serve(life, session context.Context, conn net.Conn) error {
	ctx, cancel := context.WithCancelCause(session)
	defer cancel(nil)

	p := newPeer(conn)
	defer p.close() // closes conn; returns when the reader has
	p.closeWhenDone(ctx)

	req, err := s.readRequest(p)
	if err != nil {
		return err
	}
	defer req.close()
	defer req.release()
	s.counter.start(s)
	p.start(cancel) // the only reader; a hang-up cancels ctx

	if s.state.Load() == nil {
		return fail(p, errNoSession, "the session is not ready")
	}
	if req.verb() {
		return s.answerVerb(ctx, &Call{s: s, p: p, req: req, lifetime: func(keep bool) context.Context {
			if keep {
				return life
			}
			return session
		}})
	}
	return s.command(ctx, p, req)
}

// Wait returns when every job has ended, and the patrol, and all is written down. No Serve is
// going on any more, and life is over.
func (s *Server) Wait() {
	s.ongoing.Wait()
	s.counter.end()
	s.sumRefusals()
}

// command has what req names decided, and runs it.
func (s *Server) command(ctx context.Context, p *peer, req *request) error {
	if err := req.setDeadline(); err != nil {
		return p.end(UsageError(err.Error()))
	}
	req.chooseStdin(s.State().Agent != "")
	within, cancel := req.within(ctx, p)
	defer cancel()
	if in, err := s.enter(within, p, req, limit.Calls); !in {
		return err
	}
	w, err := s.admit(within, p, req)
	if w == nil {
		return err
	}
	defer w.close()
	start := time.Now()
	if err := w.noteStart(req); err != nil {
		return fail(p, err, unwritten(err))
	}
	s.calls.Add(1)
	w.reportVerdict(p.conn)
	req.applyProfile(&w.v)
	st, ran, err := s.run(within, p.streams(req), req, w)
	if errors.Is(err, errKilled) {
		err = nil // it ran, and st says how it ended
	}
	end := ending(p.json, req, w.v, st, err)
	code := int(end.Code)
	if ran && context.Cause(ctx) != nil { // the caller has gone before it was told
		code = st.Code
	}
	if err := w.note(req, audit.Record{Kind: audit.Complete, Args: w.v.Args, Exit: code, Signal: st.Signal, Duration: time.Since(start)}); err != nil {
		s.Log.Error("audit", "request", req.ID, "error", err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("request %s: %w", req.ID, cause)
	}
	return p.exit(end)
}

// note writes down an event of req. Its arguments are the caller's unless the record says
// what they have become.
func (w *authorizedCall) note(req *request, r audit.Record) error {
	r.Request, r.Rule = req.ID, w.v.Rule
	if r.Args == nil {
		r.Args = req.Args
	}
	return w.state.Audit.Write(r)
}

// noteStart writes down that w is about to run, and why it may when nobody was asked. It
// comes before anything runs: what cannot be written down does not happen.
func (w *authorizedCall) noteStart(req *request) error {
	asked := w.v.Action == policy.Ask
	if !asked {
		if err := w.note(req, audit.Record{Kind: audit.AutoApprove, Pattern: w.v.Pattern}); err != nil {
			return err
		}
	}
	return w.note(req, audit.Record{Kind: audit.Start, Args: w.v.Args, Path: w.v.Program(), Dir: w.at(req), Approved: asked})
}

// verdictReceiver is a connection whose other end wants to know why its command runs.
type verdictReceiver interface {
	// Decided tells whether a person was asked, or a grant answered for one, and which
	// pattern or rule decided.
	Decided(asked bool, pattern string)
}

// reportVerdict tells conn why w runs, if it wants to know.
func (w *authorizedCall) reportVerdict(conn net.Conn) {
	if c, ok := conn.(verdictReceiver); ok {
		c.Decided(w.v.Action == policy.Ask, cmp.Or(w.v.Pattern, w.v.Rule))
	}
}

// fail answers a call that hostexec itself could not serve.
func fail(p *peer, err error, why string) error { return errors.Join(err, p.end(Failed(why))) }
