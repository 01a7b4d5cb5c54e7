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

// Denial is the form in which a denial that holds until the session ends is shown: all texts are printable ASCII. It
// is a JSON object of the API.
type Denial struct {
	ID        string    `json:"id"`
	Args      []string  `json:"args"` // quoted as in Go if not printable
	Cwd       string    `json:"cwd"`  // in the container
	Dir       string    `json:"dir"`  // on the host
	Path      string    `json:"path"` // the program
	Rule      string    `json:"rule"` // the rule that would ask
	Session   string    `json:"session"`
	Container string    `json:"container"`
	Project   string    `json:"project"`
	User      string    `json:"user"` // the user who made the denial
	Made      time.Time `json:"made"`
	Reason    string    `json:"reason"`
	Cut       *Cut      `json:"cut,omitempty"` // in a list: the texts are cut
}

func shownDenial(d approval.Denial) Denial {
	q := shown(d.Question)
	return Denial{
		ID: d.ID, Args: q.Args, Cwd: q.Cwd, Dir: q.Dir, Path: q.Path, Rule: q.Rule, Session: q.Session, Container: q.Container,
		Project: q.Project, User: names.Printable(d.User), Made: d.Made, Reason: names.Printable(d.Reason),
	}
}

func listedDenial(d approval.Denial) Denial {
	var s shortener
	q := &d.Question
	whole := q.Args
	q.Args = s.args(q.Args)
	for _, text := range []*string{&q.Cwd, &q.Dir, &q.Path, &q.Rule, &q.Container, &q.Project, &d.Reason} {
		*text = s.text(*text)
	}
	short := shownDenial(d)
	short.Cut = s.mark(whole)
	return short
}

// serveDenials adds the paths for denials to mux.
func serveDenials(mux *http.ServeMux, q *approval.Queue) {
	mux.HandleFunc("GET /denials", func(w http.ResponseWriter, r *http.Request) {
		all := []Denial{} // [] in JSON, not null
		for _, d := range q.Denials() {
			all = append(all, listedDenial(d))
		}
		Reply(w, http.StatusOK, all)
	})
	mux.HandleFunc("GET /denials/{id}", func(w http.ResponseWriter, r *http.Request) {
		is := func(d approval.Denial) bool { return d.ID == r.PathValue("id") }
		replyOne(w, q.Denials(), is, func(d approval.Denial) any { return shownDenial(d) }, approval.ErrNoDenial)
	})
	mux.HandleFunc("DELETE /denials/{id}", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) {
		replyResult(w, r, "revoked", q.RevokeDenial(r.PathValue("id")))
	}))
}

// Denials returns the denials that hold until the session ends.
func (c *Client) Denials(ctx context.Context) ([]Denial, error) {
	var all []Denial
	err := c.get(ctx, "/denials", &all)
	return all, err
}

// DenialOf returns one denial with complete texts.
func (c *Client) DenialOf(ctx context.Context, id string) (d Denial, err error) {
	err = c.get(ctx, "/denials/"+url.PathEscape(id), &d)
	return d, err
}

// RevokeDenial ends a denial. The error is approval.ErrNoDenial if there is no denial with that id.
func (c *Client) RevokeDenial(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodDelete, "/denials/"+url.PathEscape(id), nil, http.StatusOK)
	if errors.Is(err, approval.ErrUnknown) {
		return approval.ErrNoDenial
	}
	return err
}
