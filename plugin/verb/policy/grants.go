// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// answerKinds are the kinds of the answers that policy ls lists, in this order.
var answerKinds = []control.AnswerKind{control.KindGrant, control.KindDenial}

// prefix distinguishes an answer's ID from a rule's name. No rule has such a name.
func prefix(e control.AnswerKind) string { return string(e) + "/" }

// revokeAnswer ends the answer with the ID ref, or whose ID begins with ref, and returns its ID. Its requests
// are asked about again.
func revokeAnswer(ctx context.Context, store *state.Store, e control.AnswerKind, ref string) (id string, err error) {
	all, err := control.AllAnswers(ctx, store, e)
	if err != nil && len(all) == 0 {
		return "", err
	}
	found := names.FindID(all, func(g control.StandingAnswer) string { return g.ID }, ref)
	switch len(found) {
	case 0:
		return "", errors.Join(err, fmt.Errorf("no %s %s", e, names.Quoted(ref))) // a session that does not answer may have it
	case 1:
	default:
		return "", fmt.Errorf("%s names %d %ss: give more of the id", names.Quoted(ref), len(found), e)
	}
	c := control.Dial(store.Dir(found[0].Session))
	defer c.Close()
	return found[0].ID, control.OfSession(found[0].Session, c.Revoke(ctx, e, found[0].ID))
}

// answerRows returns the grants and denials as rows of policy ls, with complete or truncated texts.
func answerRows(ctx context.Context, store *state.Store, whole bool) (rows []*policyRow, err error) {
	for _, e := range answerKinds {
		all, problem := control.AllAnswers(ctx, store, e)
		err = errors.Join(err, problem)
		action := map[control.AnswerKind]policy.Action{control.KindGrant: policy.Allow, control.KindDenial: policy.Deny}[e]
		for _, g := range all {
			if whole && g.Cut != nil {
				g = completeAnswer(ctx, store, e, g)
			}
			rows = append(rows, &policyRow{
				Rule: prefix(e) + g.ID, Action: action.String(), Matches: g.CommandLine() + " in " + g.Dir, Where: g.Container + ", " + validFor(g), Runs: "-",
			})
		}
	}
	return rows, err
}

// completeAnswer returns g with its complete text. If it has ended meanwhile, g is unchanged.
func completeAnswer(ctx context.Context, store *state.Store, e control.AnswerKind, g control.StandingAnswer) control.StandingAnswer {
	all, err := control.Query(ctx, store.Dir(g.Session), func(c *control.Client, ctx context.Context) (control.StandingAnswer, error) {
		return c.Answer(ctx, e, g.ID)
	})
	if err != nil {
		return g
	}
	return all
}

// timeOfDay returns the local time of day, with the day unless it is today.
func timeOfDay(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// validFor returns for how long a grant is valid.
func validFor(g control.StandingAnswer) string {
	if g.Unchanged != nil {
		files := g.Unchanged
		g.Unchanged = nil
		return validFor(g) + ", while unchanged: " + files.String()
	}
	switch {
	case g.Left > 0:
		return cli.Count(g.Left, "call")
	case !g.Until.IsZero():
		return "until " + timeOfDay(g.Until, time.Now())
	}
	return "its session"
}
