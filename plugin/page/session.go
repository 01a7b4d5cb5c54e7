// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// sessions answers GET /sessions.
func (p *Page) sessions(w http.ResponseWriter, r *http.Request) {
	list, err := sessionStates(r.Context(), p.Store)
	if err != nil {
		replyError(w, http.StatusBadGateway, err.Error())
		return
	}
	control.Reply(w, http.StatusOK, list)
}

// unknown is the state of a session whose watcher does not answer.
const unknown = "unknown"

// sessionStates returns the state of all sessions that have a watcher, oldest first.
func sessionStates(ctx context.Context, store *state.Store) ([]control.Summary, error) {
	recs, err := store.List()
	if err != nil {
		return nil, err
	}
	states, errs := control.Each(recs, func(rec state.Session) (control.Status, error) {
		return control.Query(ctx, store.Dir(rec.ID), (*control.Client).Status)
	})
	list := []control.Summary{} // [] in JSON, not null
	for i, rec := range recs {
		st, err := states[i], errs[i]
		if errors.Is(err, control.ErrNoWatcher) {
			continue
		}
		if err != nil {
			st = control.Status{State: unknown, Carrier: rec.Carrier, Running: []control.Running{}}
		}
		list = append(list, control.Summarize(rec, st))
	}
	return list, nil
}

// audit answers GET /audit.
func (p *Page) audit(w http.ResponseWriter, _ *http.Request) {
	list, err := control.History(p.Store.Audit(), "")
	if err != nil {
		replyError(w, http.StatusInternalServerError, err.Error())
		return
	}
	control.Reply(w, http.StatusOK, list)
}

// running returns the directory of the session in which a command runs for request id.
func (p *Page) running(ctx context.Context, id string) (dir string, ok bool) {
	list, _ := sessionStates(ctx, p.Store) // on an error, nothing is found
	for _, s := range list {
		if slices.ContainsFunc(s.Running, func(r control.Running) bool { return r.Request == id }) {
			return p.Store.Dir(s.ID), true
		}
	}
	return "", false
}

// maxNewest is the number of history entries that are shown unfolded.
const maxNewest = 10

func newest(all []control.Event) []control.Event { return all[:min(len(all), maxNewest)] }
func older(all []control.Event) []control.Event  { return all[min(len(all), maxNewest):] }

// maxRows limits the calls per session that the page shows, because a browser must lay them all out.
const maxRows = 200

// rows returns the calls that the page shows. It takes the oldest, so that a growing list does not move
// the row that the user is about to click.
func rows(all []control.Running) []control.Running { return all[:min(len(all), maxRows)] }

// more returns the number of calls that the page does not show.
func more(all []control.Running) int { return max(0, len(all)-maxRows) }
