// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// AnswerKind is the kind of an answer that also holds for later requests: a grant, or a denial for this session.
type AnswerKind string

const (
	KindGrant  AnswerKind = "grant"
	KindDenial AnswerKind = "denial"
)

// path returns the path of the answers of the kind e.
func (e AnswerKind) path() string { return "/" + string(e) + "s" }

// NotFound returns the error for an ID that no answer of the kind e has.
func (e AnswerKind) NotFound() error {
	if e == KindDenial {
		return approval.ErrNoDenial
	}
	return approval.ErrNoGrant
}

// StandingAnswer shows an answer that also holds for later requests: a grant, or a denial for this session. All
// texts are printable ASCII. docs/api.md describes its JSON keys.
type StandingAnswer struct {
	ID        string           `json:"id"`
	Args      []string         `json:"args"`            // quoted as in Go if not printable
	Named     []string         `json:"named,omitempty"` // Args as the caller wrote them; absent: no argument is a copied file
	Cwd       string           `json:"cwd"`             // in the container
	Dir       string           `json:"dir"`             // on the host
	Path      string           `json:"path"`            // the program
	Rule      string           `json:"rule"`            // the rule that would ask
	Session   string           `json:"session"`
	Container string           `json:"container"`
	Project   string           `json:"project"` // base name of the directory where the session was started
	User      string           `json:"user"`    // the user who made it
	Made      time.Time        `json:"made"`
	Reason    string           `json:"reason,omitempty"`    // of a denial
	Until     time.Time        `json:"until,omitzero"`      // absent: for this session
	Left      int              `json:"left,omitempty"`      // remaining calls; absent: no limit
	Vary      *VaryingArgument `json:"vary,omitempty"`      // the argument that varies
	Cut       *Cut             `json:"cut,omitempty"`       // in a list: the texts are cut
	Unchanged *Inputs          `json:"unchanged,omitempty"` // it holds only while these files are unchanged
}

// standing returns the answers of the kind e. It returns grants as the Grant in a StandingDenial without a reason, so
// that the same code shows both kinds.
func (e AnswerKind) standing(q *approval.Queue) (all []approval.StandingDenial) {
	if e == KindDenial {
		return q.Denials()
	}
	for _, g := range q.Grants() {
		all = append(all, approval.StandingDenial{Grant: g})
	}
	return all
}

// revoke ends the answer of the kind e with that ID.
func (e AnswerKind) revoke(q *approval.Queue, id string) error {
	if e == KindDenial {
		return q.RevokeDenial(id)
	}
	return q.Revoke(id)
}

func shownAnswer(d approval.StandingDenial) StandingAnswer {
	q := shown(d.Question)
	return StandingAnswer{
		ID: d.ID, Args: q.Args, Named: q.Named, Cwd: q.Cwd, Dir: q.Dir, Path: q.Path, Rule: q.Rule, Session: q.Session, Container: q.Container,
		Project: q.Project, User: names.Printable(d.User), Made: d.Made, Reason: names.Printable(d.Reason), Until: d.Until, Left: max(d.Left, 0),
		Unchanged: shownInputs(d.Unchanged),
		Vary:      shownVarying(&d.Grant),
	}
}

func listedAnswer(d approval.StandingDenial) StandingAnswer {
	var s shortener
	q := &d.Question
	whole, vary := q.Args, shownVarying(&d.Grant)
	if d.Varying = nil; vary != nil { // its number may be beyond the arguments that are left
		vary.Rule = s.text(vary.Rule)
	}
	named := s.names(q)
	q.Args = s.args(q.Args)
	for _, text := range []*string{&q.Cwd, &q.Dir, &q.Path, &q.Rule, &q.Container, &q.Project, &d.Reason} {
		*text = s.text(*text)
	}
	short := shownAnswer(d)
	if u := short.Unchanged; u != nil && len(u.Files) > maxListedFiles {
		u.Files, s.cut = u.Files[:maxListedFiles], true
	}
	short.Named, short.Vary, short.Cut = named, vary, s.mark(whole)
	return short
}

// listedAnswers returns the answers of the kind e as a list shows them.
func listedAnswers(q *approval.Queue, e AnswerKind) []StandingAnswer {
	list := []StandingAnswer{} // [] in JSON, not null
	for _, d := range e.standing(q) {
		list = append(list, listedAnswer(d))
	}
	return list
}

// serveStandingAnswers adds the paths of grants, and of denials that hold for later requests, to mux.
func serveStandingAnswers(mux *http.ServeMux, q *approval.Queue) {
	for _, e := range []AnswerKind{KindGrant, KindDenial} {
		mux.HandleFunc("GET "+e.path(), func(w http.ResponseWriter, r *http.Request) { Reply(w, http.StatusOK, listedAnswers(q, e)) })
		mux.HandleFunc("GET "+e.path()+"/{id}", func(w http.ResponseWriter, r *http.Request) {
			is := func(d approval.StandingDenial) bool { return d.ID == r.PathValue("id") }
			replyOne(w, e.standing(q), is, func(d approval.StandingDenial) any { return shownAnswer(d) }, e.NotFound())
		})
		mux.HandleFunc("DELETE "+e.path()+"/{id}", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) {
			replyResult(w, r, "revoked", e.revoke(q, r.PathValue("id")))
		}))
	}
}

// Answers returns the answers in effect that also hold for later requests. Without a watcher, these are the answers
// that the next watcher of the session would have.
func (c *Client) Answers(ctx context.Context, e AnswerKind) ([]StandingAnswer, error) {
	all, err := get[[]StandingAnswer](ctx, c, e.path())
	if errors.Is(err, ErrNoWatcher) {
		return storedAnswers(c.dir, e)
	}
	return all, err
}

// Answer returns one of Answers with complete texts. The error is e.NotFound if there is none with that id.
func (c *Client) Answer(ctx context.Context, e AnswerKind, id string) (StandingAnswer, error) {
	g, err := get[StandingAnswer](ctx, c, e.path()+"/"+url.PathEscape(id))
	switch {
	case errors.Is(err, approval.ErrUnknown):
		return g, e.NotFound()
	case errors.Is(err, ErrNoWatcher):
		return storedAnswer(c.dir, e, id)
	}
	return g, err
}

// Revoke ends one of Answers. The error is e.NotFound if there is none with that id.
func (c *Client) Revoke(ctx context.Context, e AnswerKind, id string) error {
	_, err := c.doLimited(ctx, http.MethodDelete, e.path()+"/"+url.PathEscape(id), nil, http.StatusOK)
	switch {
	case errors.Is(err, approval.ErrUnknown):
		return e.NotFound()
	case errors.Is(err, ErrNoWatcher):
		return revokeStored(c.dir, e, id)
	}
	return err
}
