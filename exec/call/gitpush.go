// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/gitpush"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// GitPushConfig is what policy.GitPush needs of the session: its remotes, and the directory of their copies.
type GitPushConfig struct {
	Dir     string                     // private: has the copies of the remotes
	MaxPack func() int64               // bytes that a push may send; 0: the default
	Known   func() gitpush.Remotes     // of the configuration, and those that a person has added
	Add     func(gitpush.Remote) error // keeps a remote that a person has added
}

// gitCall has the fields of a request of policy.GitPush. In the call of the remote helper, name and address are words
// of the container. Each update, and each proposed remote, is a request of its own during that call.
type gitCall struct {
	name, address string          // what the container says
	remote        gitpush.Remote  // that was found, or is proposed
	update        *gitpush.Update // nil: the call of the helper, or a proposal
	proposal      bool
}

// GitRemotes returns the remotes that git in the container reaches by name.
func (c *VerbCall) GitRemotes() gitpush.Remotes {
	if g := c.x.server.now().Git; g != nil {
		return g.Known()
	}
	return nil
}

// gitHelper serves a call of the remote helper.
func (x *exchange) gitHelper(ctx context.Context) error {
	if len(x.req.Args) != 3 {
		return x.peer.end(Failure{Status: StatusFailed, Name: policy.GitHelper, Reason: "git calls it for URLs that begin with hostexec::", Hint: "hostexec ls shows how git uses it"})
	}
	if c, ok := x.peer.conn.(nonStreaming); ok && c.NonStreamingCarrier() != "" {
		return x.peer.end(Failure{Status: StatusUnsupported, Name: policy.GitPush, Reason: "git does not work over " + c.NonStreamingCarrier(), Hint: "run git in the container"})
	}
	x.req.git = &gitCall{name: x.req.Args[1], address: x.req.Args[2]}
	x.req.Args = []string{policy.GitPush, "fetch", x.req.git.address}
	x.req.close()
	if x.req.tty() {
		x.req.drop(0) // no git is at the other end
	}
	return x.command(ctx)
}

// inner returns an exchange for a request that arises while the request of x is served. It has the same caller, who
// reads of its failure, but whose call it does not end.
func (x *exchange) inner(g *gitCall, args ...string) *exchange {
	return &exchange{server: x.server, peer: x.peer, failure: &Failure{}, req: &request{
		Request: policy.Request{ID: newID(), Args: args, Cwd: x.req.Cwd},
		fds:     [3]wire.FD{wire.FDNull, wire.FDNull, wire.FDNull}, passed: [3]int{-1, -1, -1},
		approvalTimeout: x.req.approvalTimeout, git: g,
	}}
}

// end answers a request that fails.
func (x *exchange) end(f Failure) error {
	if x.failure == nil {
		return x.peer.end(f)
	}
	*x.failure = f
	return x.peer.send(wire.KindNotice, []byte(f.Text()))
}

// decideGit has a request of policy.GitPush decided. It returns nil and answers the caller if that is denied.
func (x *exchange) decideGit(ctx context.Context) (*decidedCall, error) {
	sc, g := x.server.now(), x.req.git
	dc := &decidedCall{server: x.server, config: sc}
	deny := func(reason string, f Failure) (*decidedCall, error) {
		dc.close()
		return nil, errors.Join(x.deny(ctx, dc, reason), x.end(f))
	}
	if g == nil {
		const reason = "not a command: git calls it for URLs that begin with hostexec::"
		return deny(reason, Failure{Status: StatusRefused, Name: policy.GitPush, Reason: reason, Request: x.req.ID, Hint: "hostexec ls shows how"})
	}
	if !g.proposal && g.update == nil {
		f, err := x.findRemote(ctx, sc)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return deny(f.Reason, *f)
		}
	}
	if dc.decide(sc.Policy, x.req); dc.v.Action == policy.Deny {
		return deny(dc.v.Reason, gitRefusal(sc, x.req, &dc.v))
	}
	if err := dc.prepareGit(x.req); err != nil {
		return deny(err.Error(), cannotRun(x.req, &dc.v, err))
	}
	dc.runner = &gitRunner{x, dc}
	return dc, nil
}

// prepareGit prepares dc to run, and sets the notes for a person.
func (dc *decidedCall) prepareGit(req *request) (err error) {
	dc.v.Place, dc.v.Streams, dc.v.Record = policy.Place{}, policy.Streams{Whole: true}, false
	if err := dc.config.findProgram(&dc.v); err != nil {
		return err
	}
	if err := os.MkdirAll(dc.config.Git.Dir, 0o700); err != nil {
		return err
	}
	if dc.cwd, err = dir.Open(dc.config.Git.Dir); err != nil {
		return err
	}
	dc.env = environ(dc.config.hostEnviron, nil, nil, dc.v.Env, dc.cwd.Path())
	dc.v.Args = req.Args
	switch {
	case req.git.update != nil:
		dc.notes = req.git.update.Notes
	case req.git.proposal:
		dc.notes = []string{
			"the container proposes this remote: hostexec keeps its name and URL for this project",
			"your git then reads it with your credentials; each push is a question of its own",
		}
	}
	return nil
}

// gitRefusal answers a request of policy.GitPush that v denies.
func gitRefusal(sc *SessionConfig, req *request, v *policy.Verdict) Failure {
	f := Failure{Status: StatusRefused, Name: policy.GitPush, Reason: names.Plain(v.Reason), Rule: v.Rule, Request: req.ID,
		Hint: sc.explainHint(policy.CommandLine(req.Args))}
	switch {
	case v.Rule == policy.RuleBroken: // the reason has the next step
		f.Hint = ""
	case !v.Known():
		f.Status, f.Hint = StatusNotProxied, "start the container with docker hostexec run --proxy "+policy.GitPush+" on the host"
	}
	return f
}

// findRemote finds the remote that the container names. A person is asked about a remote that the host does not know.
// The failure has the reason why there is none.
func (x *exchange) findRemote(ctx context.Context, sc *SessionConfig) (*Failure, error) {
	g := x.req.git
	switch v := sc.Policy.Decide(policy.Request{Args: []string{policy.GitPush, "fetch", "any"}}); {
	case v.Rule == policy.RuleBroken: // it may have had the remote
		f := gitRefusal(sc, x.req, &v)
		return &f, nil
	case !v.Known() && v.Rule == "" || sc.Git == nil:
		f := gitRefusal(sc, x.req, &policy.Verdict{Reason: "not a proxied command"})
		return &f, nil
	}
	r, err := sc.Git.Known().Find(g.name, g.address)
	var unknown *gitpush.UnknownError
	if errors.As(err, &unknown) && unknown.Proposed.Name != "" {
		r = unknown.Proposed
		err = x.proposeRemote(ctx, sc, r)
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
	}
	if err != nil {
		return &Failure{Status: StatusRefused, Name: policy.GitPush, Reason: names.Plain(err.Error()), Request: x.req.ID}, nil
	}
	g.remote = r
	x.req.Args = []string{policy.GitPush, "fetch", r.Name}
	return nil, nil
}

// proposeRemote asks a person whether r becomes a remote of the project.
func (x *exchange) proposeRemote(ctx context.Context, sc *SessionConfig, r gitpush.Remote) error {
	inner := x.inner(&gitCall{remote: r, proposal: true}, policy.GitPush, "remote", r.Name, r.URL)
	dc, err := inner.decideAndAsk(ctx)
	if dc == nil {
		return errors.Join(err, errors.New("the remote was not added: "+inner.failure.Reason))
	}
	defer dc.close()
	if err := sc.Git.Add(r); err != nil {
		x.server.Log.Error("keep a remote", "request", inner.req.ID, "error", err)
		return errors.New("the remote cannot be kept")
	}
	return nil
}

// authorizeUpdate implements gitpush.Authorize.
func (x *exchange) authorizeUpdate(ctx context.Context, u gitpush.Update) (ended func(code int), err error) {
	inner := x.inner(&gitCall{remote: u.Remote, update: &u}, policy.GitPush, string(u.Kind), u.Remote.Name, u.Name)
	dc, err := inner.decideAndAsk(ctx)
	if dc == nil {
		return nil, errors.Join(err, errors.New(inner.failure.Reason))
	}
	dc.v.Args = u.Args
	start := time.Now()
	if err := dc.noteStart(inner.req); err != nil {
		dc.close()
		return nil, errors.Join(err, inner.end(Failed(unwritten(err))))
	}
	x.server.calls.Add(1)
	return func(code int) {
		dc.close()
		if err := dc.note(inner.req, audit.Record{Kind: audit.Complete, Args: dc.v.Args, Exit: code, Duration: time.Since(start)}); err != nil {
			x.server.Log.Error("write the audit log", "request", inner.req.ID, "error", err)
		}
	}, nil
}

// gitRunner serves the call of the remote helper.
type gitRunner struct {
	x  *exchange
	dc *decidedCall
}

// Run implements Runner. The command is not a program: several programs serve it.
func (g *gitRunner) Run(ctx context.Context, c executor.Command, s executor.Streams) (executor.Status, error) {
	s.Started(0)
	within, stop := g.x.peer.interruptible(ctx)
	defer stop()
	if s.In == nil {
		s.In = io.NopCloser(strings.NewReader(""))
	}
	if s.SameOut {
		s.Err = s.Out
	}
	for _, out := range []*io.Writer{&s.Out, &s.Err} {
		if *out == nil {
			*out = io.Discard
		}
	}
	helper := gitpush.Call{
		Runner: g.x.server.Runner, ID: c.ID, Git: c.Path, Env: c.Env, Remote: g.x.req.git.remote,
		Dir: g.dc.config.Git.Dir, MaxPack: g.dc.config.Git.MaxPack(), Authorize: g.x.authorizeUpdate,
	}
	code, err := helper.Serve(within, s.In, s.Out, s.Err)
	if e, ok := Interrupted(within); ok {
		return executor.Status{Code: int(e.Code), Signal: e.Signal}, nil
	}
	if err != nil { // a person ended it, or it took too long
		return executor.Status{Code: 128 + 15, Signal: "TERM"}, err
	}
	return executor.Status{Code: code}, nil
}
