// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// APIQuestion is a question in the form of the API in docs/api.md: the fields of control.Question, and some with the
// names that cloister uses.
type APIQuestion struct {
	control.Question
	Cloister  string    `json:"cloister"` // the session; named after cloister, another program for agents: docs/http.md
	Cmd       string    `json:"cmd"`      // quoted for a shell
	Timestamp time.Time `json:"timestamp"`
	Branch    string    `json:"branch"` // of the project; empty if it has none
	Agent     string    `json:"agent"`
}

func newAPIQuestion(q control.Question) APIQuestion {
	return APIQuestion{
		Question: q, Cloister: q.Session, Cmd: commandLine(q.Words(), q.Cut), Timestamp: q.Asked.UTC().Truncate(time.Second),
		Branch: q.Branch, Agent: q.Agent,
	}
}

// commandLine returns the command quoted for a shell, with a mark if it is cut.
func commandLine(args []string, cut *control.Cut) string {
	return control.CommandLine(args) + cut.String()
}

func apiQuestions(all []control.Question) []APIQuestion {
	list := make([]APIQuestion, len(all)) // [] in JSON, not null
	for i, q := range all {
		list[i] = newAPIQuestion(q)
	}
	return list
}

// version2 is the media type with which a client asks for an object instead of an array.
const version2 = "application/vnd.hostexec.v2+json"

// pending answers GET /pending.
func (p *Page) pending(w http.ResponseWriter, r *http.Request) {
	all, err := control.AllPending(r.Context(), p.Store)
	if err != nil && len(all) == 0 {
		replyError(w, http.StatusBadGateway, err.Error())
		return
	}
	switch list := apiQuestions(all); {
	case r.Header.Get("HX-Request") == "true":
		render(w, http.StatusOK, "pending", cards(all, nil))
	case strings.Contains(r.Header.Get("Accept"), version2) || r.URL.Query().Get("v") == "2":
		control.Reply(w, http.StatusOK, struct {
			Requests []APIQuestion `json:"requests"`
		}{list})
	default:
		control.Reply(w, http.StatusOK, list)
	}
}

// question answers GET /pending/{id} with the complete texts of one request.
func (p *Page) question(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	q, found := p.find(r.Context(), id)
	if !idForm.Matches(id) || !found {
		replyError(w, http.StatusNotFound, "request not found")
		return
	}
	q, err := control.Whole(r.Context(), p.Store, q)
	switch {
	case errors.Is(err, approval.ErrUnknown), errors.Is(err, control.ErrNoWatcher):
		replyError(w, http.StatusNotFound, "request not found")
	case err != nil:
		replyError(w, http.StatusBadGateway, err.Error())
	case wantsHTML(r):
		render(w, http.StatusOK, "request", newCard([]control.Question{q}))
	default:
		control.Reply(w, http.StatusOK, newAPIQuestion(q))
	}
}

// find returns the question with that ID, or for which request id waits.
func (p *Page) find(ctx context.Context, id string) (q control.Question, ok bool) {
	all, _ := control.AllPending(ctx, p.Store) // questions of sessions that do not answer are not found
	i := indexOf(all, id)
	if i < 0 {
		return q, false
	}
	return all[i], true
}

// indexOf returns the index of the question with that ID, or for which request id waits, or -1. A question keeps its ID
// after its first caller has left.
func indexOf(all []control.Question, id string) int {
	return slices.IndexFunc(all, func(q control.Question) bool { return q.ID == id || slices.Contains(q.Waiting, id) })
}
