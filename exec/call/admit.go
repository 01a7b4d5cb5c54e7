// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/git"
	"github.com/docker-hostexec/hostexec/exec/inputs"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// decidedCall is a request with its verdict, its directory, and its environment. It has more methods
// than other types: each is one step from the decision to the start of the command.
type decidedCall struct {
	server     *Server
	config     *SessionConfig
	v          policy.Verdict
	decided    *policy.Verdict // v as the policy decided it, until the call is admitted; later steps change v
	cwd        *dir.Dir
	runner     Runner
	sandbox    *sandbox.Sandbox // of a command that is confined, or nil
	env        []string
	notes      []string            // for a person: facts that Args do not show
	askProblem *git.Problem        // for the caller: why a request asks that a rule allows, or nil
	copies     *copies             // of operands, or nil
	copied     map[int]inputs.Copy // the operands of which there are copies
	turn       func()              // ends its turn among git commands, or nil
}

// close releases the resources of dc: the directory, copies, and its turn among git commands.
func (dc *decidedCall) close() {
	if dc.cwd != nil {
		dc.cwd.Close()
	}
	dc.sandbox.Close()
	dc.copies.remove()
	dc.endTurn()
}

// admit decides the request, and asks a person if the policy requires that. If the request may not run, admit
// answers the caller and returns nil. It uses its own goroutine: deciding needs a deep stack, and the command
// may run for days on this one.
func (x *exchange) admit(ctx context.Context) (dc *decidedCall, err error) {
	done := make(chan struct{})
	// ends with the decision, or with ctx.
	go func() {
		defer close(done)
		dc, err = x.decideAndAsk(ctx)
	}()
	<-done
	return dc, err
}

func (x *exchange) decideAndAsk(ctx context.Context) (dc *decidedCall, err error) {
	for {
		dc, err = x.decide(ctx)
		if errors.Is(err, errRedecide) {
			continue
		}
		if dc == nil || dc.v.Action == policy.Allow {
			break
		}
		var ok bool
		if ok, err = (asking{x, dc}).ask(ctx); ok {
			break
		}
		dc.close()
		if !errors.Is(err, errRedecide) {
			return nil, err
		}
	}
	x.req.env = nil // it may be large, and the command long
	if dc != nil {
		dc.notes, dc.decided = nil, nil
	}
	return dc, err
}

// report returns a function that shows the caller texts while a call is prepared, if it has a terminal for errors.
// Elsewhere the texts would mix with the errors of the command.
func (x *exchange) report() func(string) {
	if x.req.fds[2] != wire.FDTTY {
		return nil
	}
	return func(text string) {
		x.peer.send(wire.KindNotice, []byte(MessageLine("%s: %s", quoteWord(x.req.Args[0]), text)))
	}
}

// decide asks the policy, and finds the files that the request names on the host. If the request is denied, it
// answers the caller and returns nil.
func (x *exchange) decide(ctx context.Context) (*decidedCall, error) {
	if x.req.git != nil || x.req.Args[0] == policy.GitPush {
		return x.decideGit(ctx)
	}
	sc := x.server.now()
	dc := &decidedCall{server: x.server, config: sc}
	var lost error
	dc.cwd, lost = x.req.open(sc.Dirs)
	x.req.MoreThanArgs = x.req.detached || x.req.keep || x.req.shell != nil || len(passedValues(x.req.env, sc.PassEnv, policy.Env{})) > 0
	// From here on only the held directory counts: the container may already have replaced the one
	// of that name.
	dc.decideInRepository(ctx, x.req)
	if x.req.Args[0] == policy.Shell && x.req.shell == nil {
		dc.v = policy.Verdict{Reason: "not a command: hostexec session runs shells"}
	}
	deny := func(reason string, e Failure) (*decidedCall, error) {
		dc.close()
		return nil, errors.Join(x.deny(ctx, dc, reason), x.peer.end(e))
	}
	if dc.v.Action == policy.Deny {
		return deny(dc.v.Reason, refusal(sc, x.req, &dc.v, x.server.Verbs.Names()))
	}
	if x.req.keep && dc.v.Action == policy.Allow && !dc.v.Keep {
		return deny(errKeepDenied.Error(), keepDenied(x.req, &dc.v))
	}
	if lost != nil {
		return deny(lost.Error(), workdirMismatch(sc, x.req, lost))
	}
	if err := x.prepare(ctx, dc); errors.Is(err, errRedecide) {
		dc.close()
		return nil, err
	} else if err != nil {
		return deny(err.Error(), cannotRun(x.req, &dc.v, err))
	}
	return dc, nil
}

// prepare finds the program, the operands, the input and the runner of dc, and adds notes for a person.
func (x *exchange) prepare(ctx context.Context, dc *decidedCall) error {
	if err := dc.config.findProgram(&dc.v); err != nil {
		return err
	}
	if err := dc.operands(x.req); err != nil {
		return err
	}
	if err := x.capture(ctx, dc); err != nil {
		return err
	}
	if x.req.shell != nil {
		dc.notes = append(dc.notes, "in the shell "+x.req.shell.name+", where earlier commands may have changed what this one means")
	}
	dc.notes = append(dc.notes, passedValues(x.req.env, dc.config.PassEnv, dc.v.Env)...)
	if err := dc.findRunner(ctx, x.req, x.report()); err != nil {
		return err
	}
	if dc.v.Action == policy.Ask && x.req.shell == nil && !dc.v.Place.InContainer() && isGit(filepath.Base(dc.v.Command.Path)) {
		dc.notes = append(dc.notes, dc.remotes(ctx, x.req)...)
	}
	return nil
}
