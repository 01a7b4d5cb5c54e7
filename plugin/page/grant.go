// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/go-units"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// answers answers GET /grants and /denials.
func (p *Page) answers(e control.AnswerKind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		control.Reply(w, http.StatusOK, answers(r.Context(), p.Store, e))
	}
}

// answers returns the answers of all sessions that also hold for later requests, oldest first. Sessions whose watchers
// do not reply are left out.
func answers(ctx context.Context, store *state.Store, e control.AnswerKind) []control.StandingAnswer {
	all, _ := control.AllAnswers(ctx, store, e)
	return append([]control.StandingAnswer{}, all...) // [] in JSON, not null
}

// revoke answers DELETE /grants/{id} and /denials/{id}. Later requests of the same kind are asked again.
func (p *Page) revoke(e control.AnswerKind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		all := answers(r.Context(), p.Store, e)
		i := slices.IndexFunc(all, func(g control.StandingAnswer) bool { return g.ID == id })
		if i < 0 {
			replyFailure(w, e.NotFound())
			return
		}
		err := control.WithClient(r.Context(), p.Store.Dir(all[i].Session), func(c *control.Client, ctx context.Context) error { return c.Revoke(ctx, e, id) })
		p.state.wakeUp()
		if err != nil {
			replyFailure(w, err)
			return
		}
		control.Reply(w, http.StatusOK, decisionReply{Status: "revoked", ID: id})
	}
}

// offer is a kind of approval in the menu beside the page's approve button.
type offer struct {
	Text   string
	For    string
	Times  int
	Always bool
}

var offers = []offer{
	{Text: "once"}, {Text: "for 15 minutes", For: "15m"}, {Text: "5 calls, including those that wait now", Times: 5},
	{Text: "for this session", Always: true},
}

// describeTerms describes how long an approval with these terms holds. It returns "" for once.
func describeTerms(t approval.Terms) string {
	if t.Unchanged {
		t.Unchanged = false
		return strings.TrimSpace(describeTerms(t) + " while its files are unchanged")
	}
	switch {
	case t.Always:
		return "for this session"
	case t.For > 0:
		return "for " + strings.ToLower(units.HumanDuration(t.For))
	case t.Times > 1:
		return "for " + strconv.Itoa(t.Times) + " calls"
	}
	return ""
}
