// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// denials answers GET /denials.
func (p *Page) denials(w http.ResponseWriter, r *http.Request) {
	control.Reply(w, http.StatusOK, denials(r.Context(), p.Store))
}

// denials returns the denials of all sessions, oldest first. Sessions that do not answer are left out.
func denials(ctx context.Context, store *state.Store) []control.Denial {
	all := []control.Denial{} // [] in JSON, not null
	recs, _ := store.List()   // the records that can be read
	for _, rec := range recs {
		some, err := denialsOf(ctx, store.Dir(rec.ID))
		if err == nil {
			all = append(all, some...)
		}
	}
	slices.SortStableFunc(all, func(a, b control.Denial) int { return a.Made.Compare(b.Made) })
	return all
}

func denialsOf(ctx context.Context, dir string) ([]control.Denial, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	c := control.Dial(dir)
	defer c.Close()
	return c.Denials(ctx)
}

// revokeDenial answers DELETE /denials/{id}. Later requests of the same kind are asked again.
func (p *Page) revokeDenial(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	all := denials(r.Context(), p.Store)
	i := slices.IndexFunc(all, func(d control.Denial) bool { return d.ID == id })
	if i < 0 {
		fail(w, http.StatusNotFound, approval.ErrNoDenial.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), asking)
	defer cancel()
	c := control.Dial(p.Store.Dir(all[i].Session))
	defer c.Close()
	err := c.RevokeDenial(ctx, id)
	p.state.wakeUp()
	switch {
	case errors.Is(err, approval.ErrNoDenial), errors.Is(err, control.ErrNoWatcher):
		fail(w, http.StatusNotFound, approval.ErrNoDenial.Error())
	case errors.Is(err, control.ErrCalled):
		fail(w, http.StatusForbidden, err.Error())
	case err != nil:
		fail(w, http.StatusBadGateway, err.Error())
	default:
		control.Reply(w, http.StatusOK, settled{Status: "revoked", ID: id})
	}
}
