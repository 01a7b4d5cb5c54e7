// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// job is a request that may run: by which decision, where, and with what.
type job struct {
	sc     *Scene
	v      policy.Verdict
	cwd    *dir.Dir
	runner Runner
	env    []string
	input  []byte   // what was captured of stdin
	notes  []string // for a person: what Args do not say
	copies *copies  // of operands, or nil
	copied *atomic.Int64
}

// close lets go of what the job holds.
func (j *job) close() {
	if j.cwd != nil {
		j.cwd.Close()
	}
	j.copies.remove()
}

// admit has the request decided, and asked about, and returns it as a job. Where it may not
// run there is none, and the caller has been told. It does so on a stack that goes when it
// is done: deciding needs a deep one, and running, which may last for days, does not.
func (s *Server) admit(ctx context.Context, p *peer, req *request) (j *job, err error) {
	done := make(chan struct{})
	// ends with the decision, or with ctx.
	go func() {
		defer close(done)
		j, err = s.decideAndAsk(ctx, p, req)
	}()
	<-done
	return j, err
}

func (s *Server) decideAndAsk(ctx context.Context, p *peer, req *request) (j *job, err error) {
	for {
		j, err = s.decide(ctx, p, req)
		if errors.Is(err, errRedecide) {
			continue
		}
		if j == nil || j.v.Action == policy.Allow {
			break
		}
		var ok bool
		if ok, err = s.ask(ctx, p, req, j); ok {
			break
		}
		j.close()
		if !errors.Is(err, errRedecide) {
			return nil, err
		}
	}
	req.env = nil // it may be large, and the command long
	if j != nil {
		j.notes = nil
	}
	return j, err
}

// decide asks the policy, and finds on the host what the request names. A request that is
// not denied is a job.
func (s *Server) decide(ctx context.Context, p *peer, req *request) (*job, error) {
	sc := s.now()
	j := &job{sc: sc, copied: &s.copied}
	var lost error
	j.cwd, lost = req.open(sc.Dirs)
	// What is known of a directory is known of the one that is held: the container can have
	// put another one in its place by now.
	req.GitDir = lost == nil && sc.Policy.Rules[req.Args[0]].GitDir == policy.GitMount && sc.Dirs.Guarded(j.cwd, req.Cwd, ".git")
	j.v = sc.Policy.Decide(req.Request)
	if req.Args[0] == policy.Shell && req.shell == nil {
		j.v = policy.Verdict{Reason: "not a command: hostexec session runs shells"}
	}
	deny := func(reason string, e end) (*job, error) {
		j.close()
		return nil, errors.Join(j.note(req, audit.Record{Kind: audit.Deny, Reason: reason}), p.end(e))
	}
	if j.v.Action == policy.Deny {
		return deny(j.v.Reason, refusal(sc, req, j.v))
	}
	if lost != nil {
		return deny(lost.Error(), misplaced(sc, req))
	}
	if err := sc.findProgram(&j.v); err != nil {
		return deny(err.Error(), unfit(req, j.v, err))
	}
	if err := j.operands(req); err != nil {
		return deny(err.Error(), unfit(req, j.v, err))
	}
	if err := s.capture(ctx, p, req, j); errors.Is(err, errRedecide) {
		j.close()
		return nil, err
	} else if err != nil {
		return deny(err.Error(), unfit(req, j.v, err))
	}
	if req.shell != nil {
		j.notes = append(j.notes, "in the shell "+req.shell.name+", where earlier commands may have changed what this one means")
	}
	j.notes = append(j.notes, told(req.env, sc.PassEnv, j.v.Env)...)
	if err := s.place(req, j); err != nil {
		return deny(err.Error(), unfit(req, j.v, err))
	}
	return j, nil
}
