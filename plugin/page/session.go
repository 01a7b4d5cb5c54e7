// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"net/http"
	"slices"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// sessions answers GET /sessions.
func (p *Page) sessions(w http.ResponseWriter, r *http.Request) {
	list, err := survey(r.Context(), p.Store)
	if err != nil {
		fail(w, http.StatusBadGateway, err.Error())
		return
	}
	control.Reply(w, http.StatusOK, list)
}

// survey asks every session's watcher what it is doing, oldest session first. Those that
// nobody serves are left out.
func survey(ctx context.Context, store *state.Store) ([]control.Summary, error) {
	recs, err := store.List()
	if err != nil {
		return nil, err
	}
	list := []control.Summary{} // [] in JSON, not null
	for _, rec := range recs {
		st, err := status(ctx, store.Dir(rec.ID))
		if err != nil {
			continue
		}
		list = append(list, control.Summarize(rec, st))
	}
	return list, nil
}

func status(ctx context.Context, dir string) (control.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	c := control.Dial(dir)
	defer c.Close()
	return c.Status(ctx)
}

// audit answers GET /audit.
func (p *Page) audit(w http.ResponseWriter, _ *http.Request) {
	list, err := control.History(p.Store.Audit(), "")
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	control.Reply(w, http.StatusOK, list)
}

// running returns the folder of the session in which a command runs for request id.
func (p *Page) running(ctx context.Context, id string) (dir string, ok bool) {
	list, _ := survey(ctx, p.Store) // nothing is found then
	for _, s := range list {
		if slices.ContainsFunc(s.Running, func(r control.Running) bool { return r.Request == id }) {
			return p.Store.Dir(s.ID), true
		}
	}
	return "", false
}

// line is a command as a shell would need it typed.
func line(args []string) string { return shellescape.QuoteCommand(args) }
