// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// reminderInterval is the interval of the reminders to a waiting caller that a person has to answer.
const reminderInterval = time.Minute

// maxShown is the maximum size in bytes of the texts of one request that a person is shown.
const maxShown = 64 << 10

// size returns the amount of text in args for a reader. An empty argument is a line, too.
func size(args []string) (n int) {
	for _, arg := range args {
		n += len(arg) + 1
	}
	return n
}

// errRedecide means that a request must be decided again, because the policy, or a file on which the approval depends,
// has changed meanwhile.
var errRedecide = fmt.Errorf("the policy has changed: %w", approval.ErrWithdrawn)

// asking is a call whose verdict is to ask a person about dc.
type asking struct {
	*exchange
	dc *decidedCall
}

// ask asks a person, and reports whether the request was approved. Otherwise it answers the caller, unless
// the error is errRedecide: then the request has to be decided again.
func (x asking) ask(ctx context.Context) (bool, error) {
	ask := x.dc.question(x.req)
	if n := size(ask.Args) + size(ask.Notes); n > maxShown {
		a := approval.Answer{Outcome: approval.Refused, Reason: fmt.Sprintf("it has %d bytes of text, more than a person reads", n)}
		return false, errors.Join(x.deny(ctx, x.dc, a.Reason), x.end(denied(x.req, x.dc, a)))
	}
	x.dc.findPaths(&ask, x.server.Queue.PathsOf(ask))
	if d, ok := x.server.Queue.DeniedAlways(ask); ok {
		return false, errors.Join(x.denyBy(ctx, x.dc, d.Answer()), x.end(denied(x.req, x.dc, d.Answer())))
	}
	if grant, ok := x.granted(&ask); ok {
		return x.approved(approval.Answer{By: grant.By(), Inputs: grant.Unchanged.Digest()})
	}
	if !x.server.refused.limitQuestions(ctx) {
		err := x.deny(ctx, x.dc, "the call ended before a person was asked")
		if errors.Is(context.Cause(ctx), errCallerDeadline) {
			return false, errors.Join(err, x.end(callerDeadlineExceeded(x.req, x.dc.v.Rule)))
		}
		return false, errors.Join(err, fmt.Errorf("request %s: %w", x.req.ID, context.Cause(ctx)))
	}
	return x.askPerson(ctx, ask)
}

// askPerson asks, after a preview if the rule wants one.
func (x asking) askPerson(ctx context.Context, ask approval.Question) (bool, error) {
	patience, done := x.req.waiting(ctx)
	defer done()
	patience, stop := x.whileDecided(patience)
	defer stop()
	p := x.preparePreview(patience, &ask)
	defer p.close()
	r := audit.Record{Kind: audit.Request, Path: x.dc.v.Program(), Dir: x.dc.cwd.Path(), Preview: p.recorded()}
	if err := x.dc.note(x.req, r); err != nil {
		return false, x.fail(err)
	}
	x.dc.offers(&ask)
	p.run(patience)
	a := x.wait(patience, ask, p.close)
	switch {
	case a.Outcome == approval.Approved && (x.verdictChanged(x.server.now()) || a.Inputs != "" && x.dc.findInputs(x.req, &ask) != a.Inputs):
		x.noteLasting(a)
		return false, errRedecide // the next question shows what has changed meanwhile
	case a.Outcome == approval.Approved:
		return x.approved(a)
	case a.Outcome == approval.Cancelled && context.Cause(patience) == errRedecide && ctx.Err() == nil:
		return false, errRedecide
	case a.Outcome == approval.Cancelled:
		return x.cancelled(ctx, patience)
	case a.Outcome == approval.TimedOut:
		return x.unanswered()
	case a.By == "": // no person has seen it
		return false, errors.Join(x.deny(ctx, x.dc, a.Reason), x.end(denied(x.req, x.dc, a)))
	}
	return false, errors.Join(x.noteAnswer(a), x.end(denied(x.req, x.dc, a)))
}

// cancelled ends a call whose question was withdrawn: by the caller's deadline, because the caller left the queue,
// or because the call ended.
func (x asking) cancelled(ctx, patience context.Context) (bool, error) {
	if errors.Is(context.Cause(ctx), errCallerDeadline) {
		return false, errors.Join(x.dc.note(x.req, audit.Record{Kind: audit.Timeout}), x.end(callerDeadlineExceeded(x.req, x.dc.v.Rule)))
	}
	if errors.Is(context.Cause(patience), errApprovalTimeout) {
		return x.unanswered()
	}
	err := x.dc.note(x.req, audit.Record{Kind: audit.Cancel})
	return false, errors.Join(err, fmt.Errorf("request %s: %w", x.req.ID, context.Cause(ctx)))
}

// unanswered ends a request that nobody answered in time.
func (x asking) unanswered() (bool, error) {
	return false, errors.Join(x.dc.note(x.req, audit.Record{Kind: audit.Timeout}), x.end(unanswered(x.req, x.dc)))
}

// approved records who approved the request, the grant that was made with it, and the digest of the files on which that
// depends. A request whose approval cannot be recorded does not run.
func (x asking) approved(a approval.Answer) (bool, error) {
	if err := x.noteAnswer(a); err != nil {
		return false, x.fail(err)
	}
	return true, nil
}

// noteAnswer records an approval or a denial.
func (x asking) noteAnswer(a approval.Answer) error {
	if a.Outcome == approval.Denied {
		return x.dc.note(x.req, audit.Record{Kind: audit.Deny, Reason: a.Reason, By: a.By})
	}
	more := x.req.MoreThanArgs || x.dc.v.MoreThanArgs()
	return x.dc.note(x.req, audit.Record{Kind: audit.Approve, By: a.By, Grant: a.Grant, Inputs: a.Inputs, More: more})
}

// noteLasting records an answer that holds for later calls, but does not settle this one. That is the case if the
// caller has left, or the files have changed since the question was shown.
func (x asking) noteLasting(a approval.Answer) {
	if a.Grant == "" && !a.Standing {
		return
	}
	if err := x.noteAnswer(a); err != nil {
		x.server.Log.Error("record an answer", "request", x.req.ID, "error", err)
	}
}

// withoutRequest returns the part of x that noteLasting needs. The queue keeps it after the end of the call. The memory
// of the request, with its environment and stdin, is not counted any more then.
func (x asking) withoutRequest() asking {
	req := &request{Request: x.req.Request}
	req.Args = slices.Clone(req.Args)
	for i, arg := range req.Args {
		req.Args[i] = strings.Clone(arg)
	}
	v := x.dc.v
	v.Args, v.Reason = nil, ""
	return asking{&exchange{server: x.server, req: req}, &decidedCall{server: x.server, config: x.dc.config, v: v}}
}

// fail answers a request that cannot be recorded.
func (x *exchange) fail(err error) error { return errors.Join(err, x.end(Failed(unwritten(err)))) }

// question returns the question about dc for a person.
func (dc *decidedCall) question(req *request) approval.Question {
	q := approval.Question{
		ID: req.ID, Args: dc.v.Args, Cwd: req.Cwd, Dir: dc.cwd.Path(), Path: dc.v.Program(), Rule: dc.v.Rule,
		Session: dc.config.Session, Container: dc.config.Container, Project: dc.config.Project, Branch: dc.config.Branch, Agent: dc.config.Agent,
		Effects: dc.v.Effects, Grade: dc.v.Grade, Notes: dc.notes, Setup: dc.setup(req),
	}
	q.Copied = dc.copiedNames()
	dc.setMount(&q, req)
	if dc.v.AskReason != "" {
		q.Notes = append([]string{"asked, although " + dc.v.Rule + " allows it: " + dc.v.AskReason}, q.Notes...)
	}
	if !slices.Equal(dc.v.Args, req.Args) {
		q.Notes = append([]string{"called as " + names.Printable(shellescape.QuoteCommand(req.Args))}, q.Notes...)
	}
	switch {
	case req.keep:
		q.Notes = append(slices.Clip(q.Notes), "it continues in the background, also after the container has ended")
	case req.detached:
		q.Notes = append(slices.Clip(q.Notes), "it continues in the background, without its caller")
	}
	return q
}

// wait asks a person, and reminds the caller of it regularly. It calls asked at the next change of the queue, which may
// be a change of another question.
func (x asking) wait(ctx context.Context, ask approval.Question, asked func()) approval.Answer {
	ctx, done := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer done()
	changed := x.server.Queue.Changed()
	// ends when the question is answered, which cancels ctx.
	wg.Go(func() {
		select {
		case <-changed:
			if ctx.Err() != nil { // a request that is refused at once has not waited
				return
			}
			asked()
		case <-ctx.Done():
			return
		}
		tick := time.NewTicker(reminderInterval)
		defer tick.Stop()
		for {
			x.peer.send(wire.KindNotice, []byte(waiting(x.req)))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return x.server.Queue.Ask(ctx, ask, x.withoutRequest().noteLasting)
}

// whileDecided returns a context that ends with the cause errRedecide when the policy would decide the request
// differently. stop returns when the policy is no longer watched.
func (x asking) whileDecided(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	var watching sync.WaitGroup
	// ends with ctx; stop cancels it and waits.
	watching.Go(func() {
		for {
			next := x.server.configChanged.Next()
			if x.verdictChanged(x.server.config.Load()) {
				cancel(errRedecide)
				return
			}
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		watching.Wait()
	}
}

// verdictChanged reports whether sc would decide the request differently than the configuration of dc decided it, or
// exposes it.
func (x asking) verdictChanged(sc *SessionConfig) bool {
	if sc == x.dc.config {
		return false
	}
	if sc.Policy != x.dc.config.Policy {
		v, old := sc.Policy.Decide(x.req.Request), *x.dc.decided
		if v.Action != policy.Ask || v.Rule != old.Rule || !reflect.DeepEqual(runFacts(v), runFacts(old)) {
			return true
		}
	}
	return x.exposed(sc)
}

// exposed reports whether, in sc, code of a container can write files of which the question says nothing, because it
// could not before: the program, files that variables name, or .git. Another session may have started.
func (x asking) exposed(sc *SessionConfig) bool {
	old, v := x.dc.config, x.dc.v
	if v.Place.InContainer() || v.TargetContainer() != "" {
		return false
	}
	if sc.findProgram(&v) != nil || v.Env.Set["PATH"] != x.dc.v.Env.Set["PATH"] || !slices.Equal(sc.Environ, old.Environ) || !slices.Equal(sc.hostEnviron, old.hostEnviron) {
		return true
	}
	return x.req.GitDirReadOnly && !sc.Dirs.ReadOnly(x.dc.cwd, x.req.Cwd, ".git")
}

// runFacts returns those properties of a verdict that decide how the command runs.
func runFacts(v policy.Verdict) []any {
	return []any{v.Command, v.Place, v.Args, v.Paths, v.Effects, v.Inputs, v.Preview, v.Sandbox, v.Env, v.Streams, v.SHA256, v.Timeout, v.NewPrivs, v.LeaveProcesses, v.Keep, v.Record}
}
