// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Request is a question in the form of the API: the fields of the watcher, and a shorter form.
type Request struct {
	control.Question
	Cloister  string    `json:"cloister"` // the session
	Cmd       string    `json:"cmd"`      // quoted for a shell
	Timestamp time.Time `json:"timestamp"`
	Branch    string    `json:"branch"` // of the project; empty if it has none
	Agent     string    `json:"agent"`
}

func request(q control.Question) Request {
	return Request{
		Question: q, Cloister: q.Session, Cmd: commandLine(q.Words(), q.Cut), Timestamp: q.Asked.UTC().Truncate(time.Second),
		Branch: q.Branch, Agent: q.Agent,
	}
}

// commandLine returns the command quoted for a shell, with a mark if it is cut.
func commandLine(args []string, cut *control.Cut) string {
	return control.Line(args) + cut.String()
}

func requests(all []control.Question) []Request {
	list := make([]Request, len(all)) // [] in JSON, not null
	for i, q := range all {
		list[i] = request(q)
	}
	return list
}

// version2 is the media type with which a client asks for an object instead of an array.
const version2 = "application/vnd.hostexec.v2+json"

// pending answers GET /pending.
func (p *Page) pending(w http.ResponseWriter, r *http.Request) {
	all, err := questions(r.Context(), p.Store)
	if err != nil && len(all) == 0 {
		replyError(w, http.StatusBadGateway, err.Error())
		return
	}
	switch list := requests(all); {
	case r.Header.Get("HX-Request") == "true":
		render(w, http.StatusOK, "pending", cards(all, nil))
	case strings.Contains(r.Header.Get("Accept"), version2) || r.URL.Query().Get("v") == "2":
		control.Reply(w, http.StatusOK, struct {
			Requests []Request `json:"requests"`
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
	q, err := p.whole(r.Context(), q)
	switch {
	case errors.Is(err, approval.ErrUnknown), errors.Is(err, control.ErrNoWatcher):
		replyError(w, http.StatusNotFound, "request not found")
	case err != nil:
		replyError(w, http.StatusBadGateway, err.Error())
	case wantsHTML(r):
		render(w, http.StatusOK, "request", newCard([]control.Question{q}))
	default:
		control.Reply(w, http.StatusOK, request(q))
	}
}

// whole returns q with complete texts.
func (p *Page) whole(ctx context.Context, q control.Question) (control.Question, error) {
	return ask(ctx, p.Store.Dir(q.Session), func(c *control.Client, ctx context.Context) (control.Question, error) { return c.Complete(ctx, q) })
}

// questions returns the waiting questions of all sessions, oldest first.
func questions(ctx context.Context, store *state.Store) (all []control.Question, err error) {
	recs, err := store.List()
	for _, rec := range recs {
		some, e := ask(ctx, store.Dir(rec.ID), (*control.Client).Pending)
		if e != nil && !errors.Is(e, control.ErrNoWatcher) {
			err = errors.Join(err, fmt.Errorf("session %s: %w", rec.ID, e))
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, byAge)
	return all, err
}

func byAge(a, b control.Question) int { return a.Asked.Compare(b.Asked) }

// askTimeout is the time limit for a watcher's reply.
const askTimeout = 5 * time.Second

// callWatcher calls f with a client of the watcher of the session in dir, and limits the time for its reply.
func callWatcher(ctx context.Context, dir string, f func(*control.Client, context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c := control.Dial(dir)
	defer c.Close()
	return f(c, ctx)
}

// ask is callWatcher for a method with a result.
func ask[T any](ctx context.Context, dir string, f func(*control.Client, context.Context) (T, error)) (result T, err error) {
	err = callWatcher(ctx, dir, func(c *control.Client, ctx context.Context) (err error) {
		result, err = f(c, ctx)
		return err
	})
	return result, err
}

// find returns the question whose Waiting contains request id.
func (p *Page) find(ctx context.Context, id string) (q control.Question, ok bool) {
	all, _ := questions(ctx, p.Store) // questions of sessions that do not answer are not found
	i := slices.IndexFunc(all, func(q control.Question) bool { return slices.Contains(q.Waiting, id) })
	if i < 0 {
		return q, false
	}
	return all[i], true
}
