// SPDX-License-Identifier: Apache-2.0

// Package call serves the calls of a session. For each, it reads the request, decides it, records the decision, runs
// the command and answers.
//
//	shim --frames--> peer --Streams--> executor
//	     <--frames--      <--Status---
//
// Its invariant: a call succeeds only by an explicit Exit frame. It comes when the command has ended, when a job is
// ready, or when a verb has answered. If the stream breaks, the whole process tree of the call ends; a ready job stays.
// The package is independent of Docker. It does not know the carriers. It uses optional methods of a connection:
// NonStreamingCarrier names a carrier whose callers get only one answer, Passed returns received descriptors, and
// Decided gets the verdict. Calls of hostexec itself are answered by Verbs.
package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/broadcast"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/hostcode"
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

// SessionConfig holds what calls use, and may change while the session lives. The container gets its name
// after the watcher has started, and its mounts with each start. It has many fields because it is a record that
// the session fills in and calls only read.
type SessionConfig struct {
	Session   string
	Project   string // base name of the directory where the session was started
	Branch    string // of git there, when the configuration was set; empty outside of git
	Container string // its name, for messages
	Agent     string // the program that runs there, if the host knows it
	Policy    *policy.Policy
	Audit     *audit.Log
	Dirs      *mount.Table
	Workdir   string   // the container's default working directory; empty: /
	PassEnv   []string // names that the container may set
	NewPrivs  bool

	Environ []string                                 // of commands on this host: the watcher's, as hostcode.Environ returns it for Dirs
	Find    func(name string) (path string, ok bool) // finds programs that only the policy names; nil finds nothing
	Scratch string                                   // a directory for copies, which no caller can reach

	OtherSandboxWrites []string // paths that the policies of other sessions let their commands in sandboxes write

	Recordings string // a directory for the output of commands

	// InContainer returns the runner for a place that is not the host, for a caller in cwd, and the path
	// of cwd in that place. The directory copies is mounted there unless it is empty. Nil: commands
	// run on the host only.
	InContainer func(place policy.Place, cwd, copies string) (r Runner, at string, err error)

	// SandboxFor returns the sandbox for a command that a verdict puts into one, and the part of environ that the
	// command gets. The caller closes the sandbox. report gets progress messages while that takes long; it may be nil.
	// When ctx ends, it does not wait for other sessions any more. Nil: there are no sandboxes.
	SandboxFor func(ctx context.Context, v *policy.Verdict, environ []string, report func(text string)) (s *sandbox.Sandbox, kept []string, err error)

	// Git has the remotes of policy.GitPush. Nil: that command does not exist.
	Git *GitPushConfig

	// FindContainer returns the running container with exactly that name, for a shell. Nil: there is no engine.
	FindContainer func(ctx context.Context, name string) (shell.Container, error)

	programs    *programs    // that were checked
	others      *mount.Table // paths that containers of other sessions can write, or nil
	sandboxed   *mount.Table // the paths of SandboxWrites, or nil
	hostEnviron []string     // hostcode.Environ of Environ, for sandboxed
}

// HostEnviron returns the environment of commands that run on the host without a sandbox.
func (sc *SessionConfig) HostEnviron() []string { return sc.hostEnviron }

// Server serves the calls of one session. Set its exported fields before the first Serve. It has more fields than other
// types: the exported fields are its options, and the others are state that all calls of a session share.
type Server struct {
	Version string
	Verbs   Verbs // answers hostexec ps and others
	Runner  Runner
	Queue   *approval.Queue // the questions to a person about calls
	Log     *slog.Logger
	Environ []string     // of this process; commands in containers get the variables that the policy passes
	Jobs    *job.Table   // those of the session
	Shells  *shell.Table // of the session, or nil
	Limits  limit.Session
	Memory  func(argv int64) // gets the size of all requests when a long one begins or ends, from any goroutine; may be nil
	// Refresh is called before each decision, by any goroutine. It may call SetConfig if the sources of
	// the policy have changed. It may be nil.
	Refresh func()

	config        atomic.Pointer[SessionConfig]
	configChanged broadcast.Event
	newConns      connLimiter
	unread        unreadEnds
	running       runningCalls
	left          leftovers
	ongoing       sync.WaitGroup // jobs
	early         atomic.Int64   // calls that wait for the first SetConfig
	calls         atomic.Int64
	counter       processCounter
	refused       refusals
	copied        atomic.Int64 // bytes of operands, as long as their calls last
	turns         commandTurns
	lookups       commandTurns // of git commands for questions
	previews      commandTurns // one at a time
}

// SetConfig sets what later calls depend on. A request that waits for a person is decided again if the new policy
// decides otherwise, or lets the command run in another way.
func (s *Server) SetConfig(sc *SessionConfig) {
	sc.programs, sc.others = &programs{}, nil // the mounts may have changed
	if sc.Dirs != nil {
		sc.others = sc.Dirs.Others()
	}
	sc.sandboxed, sc.hostEnviron = nil, sc.Environ
	if paths := sc.SandboxWrites(); len(paths) > 0 {
		sc.sandboxed = mount.WritableTable(paths)
		sc.hostEnviron, _ = hostcode.Environ(sc.Environ, sc.sandboxed)
	}
	s.config.Store(sc)
	s.configChanged.Send()
}

// SandboxWrites returns the paths that commands in sandboxes may write because of the policy of any session.
func (sc *SessionConfig) SandboxWrites() []string {
	return slices.Concat(sc.Policy.SandboxWrites(), sc.OtherSandboxWrites)
}

// Config returns the configuration that SetConfig set last, or nil.
func (s *Server) Config() *SessionConfig { return s.config.Load() }

// now applies changes of the configuration. It returns the current configuration for a decision, or nil if there is
// none yet.
func (s *Server) now() *SessionConfig {
	if s.Refresh != nil && s.config.Load() != nil {
		s.Refresh()
	}
	return s.config.Load()
}

// Calls returns the number of START records: of commands that were about to run, and of authorized updates of git-push
// calls.
func (s *Server) Calls() int { return int(s.calls.Load()) }

var (
	errHungUp         = errors.New("the caller went away")
	errTooLong        = errors.New("it took longer than the policy lets it")
	errCallerDeadline = errors.New("it took longer than its caller waits")
	errNoSession      = errors.New("no session is set up yet")

	// ErrNoRequest is the error of a connection without a request. A container can make any number of such connections.
	ErrNoRequest = errors.New("no request was received")
)

// Serve answers one call and closes conn. It returns when the command has ended. If the caller hangs up first, it
// returns when everything that the command started has ended. The call ends with period: the part of session from a
// start of the container until the watcher stops waiting for its restart. A job of the call also ends with period or,
// if it is kept, with session. Wait returns after all jobs.
func (s *Server) Serve(session, period context.Context, conn net.Conn) error {
	ctx, cancel := context.WithCancelCause(period)
	defer cancel(nil)

	p := newPeer(conn)
	defer p.close() // closes conn; returns when the reader has
	p.closeWhenDone(ctx)

	req, err := s.readRequest(p)
	if err != nil {
		return err
	}
	x := &exchange{server: s, peer: p, req: req}
	defer req.close()
	defer s.unread.deliver(p)
	defer req.release()
	s.counter.start(s)
	p.start(cancel, req.tty()) // the only reader; a hang-up cancels ctx

	if !s.ready(ctx) {
		return fail(p, errNoSession, "the session is not ready")
	}
	if req.verb() {
		return s.Verbs.Serve(ctx, &VerbCall{x, func(keep bool) context.Context {
			if keep {
				return session
			}
			return period
		}})
	}
	if req.Args[0] == policy.GitHelper {
		return x.gitHelper(ctx)
	}
	return x.command(ctx)
}

// Wait returns when every job has ended and all records are written. Call it when no Serve runs any more and the
// session has ended.
func (s *Server) Wait() {
	s.ongoing.Wait()
	s.counter.end()
	s.refused.sum(s.Log)
}

// exchange is a call while it is served: its caller, its request, and the session that answers. It has more methods
// than other types: each is one step of a call, or the answer to one kind of call.
type exchange struct {
	server *Server
	peer   *peer
	req    *request

	failure *Failure // of a request during another one: why it failed; nil: the caller gets it as its answer
}

// command decides the request, and runs it.
func (x *exchange) command(ctx context.Context) error {
	if x.req.git == nil { // otherwise git's protocol, and no text of an agent, is on stdin
		if err := x.req.chooseStdin(x.server.Config().Agent != ""); err != nil {
			return x.peer.end(UsageError(err.Error()))
		}
	}
	return x.decided(ctx, func(within context.Context, dc *decidedCall) error { return x.runAndAnswer(ctx, within, dc) })
}

// decided decides the request, and calls serve if it may run. The context within ends at the caller's deadline.
func (x *exchange) decided(ctx context.Context, serve func(within context.Context, dc *decidedCall) error) error {
	if err := x.req.setDeadline(); err != nil {
		return x.peer.end(UsageError(err.Error()))
	}
	within, cancel := x.req.within(ctx, x.peer)
	defer cancel()
	if in, err := x.enter(within, limit.Calls); !in {
		return err
	}
	dc, err := x.admit(within)
	if dc == nil {
		return err
	}
	return serve(within, dc)
}

// runAndAnswer runs the command of dc and answers the caller with its end.
func (x *exchange) runAndAnswer(ctx, within context.Context, dc *decidedCall) error {
	defer dc.close()
	start := time.Now()
	if err := dc.noteStart(x.req); err != nil {
		return fail(x.peer, err, unwritten(err))
	}
	x.server.calls.Add(1)
	dc.reportVerdict(x.peer.conn)
	x.req.restrictStreams(&dc.v)
	answered := x.answerInTime(within, dc.v.Rule)
	st, ran, err := x.run(within, x.peer.streams(x.req), dc)
	early := answered()
	if errors.Is(err, errKilled) {
		err = nil // it ran, and st is its status
	}
	end := ending(x.peer.json, x.req, &dc.v, st, err)
	code := int(end.Code)
	if ran && context.Cause(ctx) != nil && !early { // the caller left before the answer
		code = st.Code
	}
	x.noteComplete(dc, code, st.Signal, start)
	if early {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("request %s: %w", x.req.ID, cause)
	}
	return x.peer.exit(end)
}

// noteComplete records the end of a command that began at start.
func (x *exchange) noteComplete(dc *decidedCall, code int, signal string, start time.Time) {
	if err := dc.note(x.req, audit.Record{Kind: audit.Complete, Args: dc.named(), Exit: code, Signal: signal, Duration: time.Since(start)}); err != nil {
		x.server.Log.Error("write the audit log", "request", x.req.ID, "error", err)
	}
}

// note records an event of req. The arguments are the caller's, unless r has others.
func (dc *decidedCall) note(req *request, r audit.Record) error {
	r.Request, r.Rule = req.ID, dc.v.Rule
	if r.Args == nil {
		r.Args = req.Args
	}
	return dc.config.Audit.Write(r)
}

// noteStart records that dc is about to run, and the reason if no person was asked. A command whose start cannot
// be recorded does not run.
func (dc *decidedCall) noteStart(req *request) error {
	asked := dc.v.Action == policy.Ask
	if !asked {
		if err := dc.note(req, audit.Record{Kind: audit.AutoApprove, Pattern: dc.v.Pattern}); err != nil {
			return err
		}
	}
	return dc.note(req, audit.Record{Kind: audit.Start, Args: dc.v.Args, Path: dc.v.Program(), Dir: dc.directory(req), Approved: asked})
}

// verdictReceiver is a connection that wants to know why its command runs.
type verdictReceiver interface {
	// Decided receives whether a person was asked, or a grant answered, and which pattern or rule decided.
	Decided(asked bool, pattern string)
}

// reportVerdict reports the reason why dc runs to conn, if conn implements Decided.
func (dc *decidedCall) reportVerdict(conn net.Conn) {
	if c, ok := conn.(verdictReceiver); ok {
		c.Decided(dc.v.Action == policy.Ask, cmp.Or(dc.v.Pattern, dc.v.Rule))
	}
}

// fail answers a call that hostexec itself could not serve.
func fail(p *peer, err error, why string) error { return errors.Join(err, p.end(Failed(why))) }
