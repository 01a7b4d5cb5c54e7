// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// Grant is the form in which a grant is shown: all texts are printable ASCII. It is a JSON object of the API.
type Grant struct {
	ID        string    `json:"id"`
	Args      []string  `json:"args"` // quoted as in Go if not printable
	Cwd       string    `json:"cwd"`  // in the container
	Dir       string    `json:"dir"`  // on the host
	Path      string    `json:"path"` // the program
	Rule      string    `json:"rule"` // the rule that would ask
	Session   string    `json:"session"`
	Container string    `json:"container"`
	Project   string    `json:"project"`
	User      string    `json:"user"` // the user who made the grant
	Made      time.Time `json:"made"`
	Until     time.Time `json:"until,omitzero"`      // absent: until the session ends
	Left      int       `json:"left,omitempty"`      // remaining calls; absent: no limit
	Vary      *Variable `json:"vary,omitempty"`      // the argument that varies
	Cut       *Cut      `json:"cut,omitempty"`       // in a list: the texts are cut
	Unchanged *Inputs   `json:"unchanged,omitempty"` // it holds only while these files are unchanged
}

func shownGrant(g approval.Grant) Grant {
	q := shown(g.Question)
	return Grant{
		ID: g.ID, Args: q.Args, Cwd: q.Cwd, Dir: q.Dir, Path: q.Path, Rule: q.Rule, Session: q.Session, Container: q.Container,
		Project: q.Project, User: names.Printable(g.User), Made: g.Made, Until: g.Until, Left: max(g.Left, 0),
		Unchanged: shownInputs(g.Unchanged),
		Vary:      shownVariable(&g),
	}
}

// serveGrants adds the paths for grants to mux.
func serveGrants(mux *http.ServeMux, q *approval.Queue) {
	mux.HandleFunc("GET /grants", func(w http.ResponseWriter, r *http.Request) {
		all := []Grant{} // [] in JSON, not null
		for _, g := range q.Grants() {
			all = append(all, listedGrant(g))
		}
		Reply(w, http.StatusOK, all)
	})
	mux.HandleFunc("DELETE /grants/{id}", rejectCalledProcess(func(w http.ResponseWriter, r *http.Request) {
		replyResult(w, r, "revoked", q.Revoke(r.PathValue("id")))
	}))
}

// Grants returns the grants in effect.
func (c *Client) Grants(ctx context.Context) ([]Grant, error) {
	var all []Grant
	err := c.get(ctx, "/grants", &all)
	return all, err
}

// Revoke ends a grant. The error is approval.ErrNoGrant if there is no grant with that id.
func (c *Client) Revoke(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodDelete, "/grants/"+id, nil, http.StatusOK)
	if errors.Is(err, approval.ErrUnknown) {
		return approval.ErrNoGrant
	}
	return err
}
