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
	state      *SessionState
	v          policy.Verdict
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

// close releases the resources of w: the directory, copies, and its turn among git commands.
func (w *decidedCall) close() {
	if w.cwd != nil {
		w.cwd.Close()
	}
	w.sandbox.Close()
	w.copies.remove()
	w.endTurn()
}

// admit decides the request, and asks a person if the policy requires that. If the request may not run, admit
// answers the caller and returns nil. It uses its own goroutine: deciding needs a deep stack, and the command
// may run for days on this one.
func (x *exchange) admit(ctx context.Context) (w *decidedCall, err error) {
	done := make(chan struct{})
	// ends with the decision, or with ctx.
	go func() {
		defer close(done)
		w, err = x.decideAndAsk(ctx)
	}()
	<-done
	return w, err
}

func (x *exchange) decideAndAsk(ctx context.Context) (w *decidedCall, err error) {
	for {
		w, err = x.decide(ctx)
		if errors.Is(err, errRedecide) {
			continue
		}
		if w == nil || w.v.Action == policy.Allow {
			break
		}
		var ok bool
		if ok, err = (asking{x, w}).ask(ctx); ok {
			break
		}
		w.close()
		if !errors.Is(err, errRedecide) {
			return nil, err
		}
	}
	x.req.env = nil // it may be large, and the command long
	if w != nil {
		w.notes = nil
	}
	return w, err
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
	w := &decidedCall{server: x.server, state: sc}
	var lost error
	w.cwd, lost = x.req.open(sc.Dirs)
	x.req.MoreThanArgs = x.req.detached || x.req.keep || x.req.shell != nil || len(passedValues(x.req.env, sc.PassEnv, policy.Env{})) > 0
	// From here on only the held directory counts: the container may already have replaced the one
	// of that name.
	w.decideInRepository(ctx, x.req)
	if x.req.Args[0] == policy.Shell && x.req.shell == nil {
		w.v = policy.Verdict{Reason: "not a command: hostexec session runs shells"}
	}
	deny := func(reason string, e Failure) (*decidedCall, error) {
		w.close()
		return nil, errors.Join(x.deny(ctx, w, reason), x.peer.end(e))
	}
	if w.v.Action == policy.Deny {
		return deny(w.v.Reason, refusal(sc, x.req, &w.v, x.server.verbNames()))
	}
	if x.req.keep && w.v.Action == policy.Allow && !w.v.Keep {
		return deny(errKeepDenied.Error(), keepDenied(x.req, &w.v))
	}
	if lost != nil {
		return deny(lost.Error(), workdirMismatch(sc, x.req, lost))
	}
	if err := x.prepare(ctx, w); errors.Is(err, errRedecide) {
		w.close()
		return nil, err
	} else if err != nil {
		return deny(err.Error(), cannotRun(x.req, &w.v, err))
	}
	return w, nil
}

// prepare finds the program, the operands, the input and the runner of w, and adds notes for a person.
func (x *exchange) prepare(ctx context.Context, w *decidedCall) error {
	if err := w.state.findProgram(&w.v); err != nil {
		return err
	}
	if err := w.operands(x.req); err != nil {
		return err
	}
	if err := x.capture(ctx, w); err != nil {
		return err
	}
	if x.req.shell != nil {
		w.notes = append(w.notes, "in the shell "+x.req.shell.name+", where earlier commands may have changed what this one means")
	}
	w.notes = append(w.notes, passedValues(x.req.env, w.state.PassEnv, w.v.Env)...)
	if err := w.findRunner(x.req, x.report()); err != nil {
		return err
	}
	if w.v.Action == policy.Ask && x.req.shell == nil && !w.v.Place.Contained() && isGit(filepath.Base(w.v.Command.Path)) {
		w.notes = append(w.notes, w.remotes(ctx, x.req)...)
	}
	return nil
}
