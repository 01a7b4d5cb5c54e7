// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// denialPrefix distinguishes a denial's ID from a rule's name. No rule has such a name.
const denialPrefix = "denial/"

// listDenials returns the denials of all sessions with a watcher, oldest first.
func listDenials(ctx context.Context, store *state.Store) ([]control.Denial, error) {
	return sessions.AskAll(ctx, store, (*control.Client).Denials, func(d control.Denial) time.Time { return d.Made })
}

// denialRows returns the denials as rows of policy ls, with complete or truncated texts.
func denialRows(ctx context.Context, store *state.Store, whole bool) ([]*policyRow, error) {
	all, err := listDenials(ctx, store)
	var rows []*policyRow
	for _, d := range all {
		if whole && d.Cut != nil {
			d = wholeDenial(ctx, store, d)
		}
		r := newPolicyRow()
		r.rule, r.action, r.where = denialPrefix+d.ID, policy.Deny.String(), d.Container+", its session"
		r.matches = control.Line(d.Args) + d.Cut.String() + " in " + d.Dir
		rows = append(rows, r)
	}
	return rows, err
}

// wholeDenial returns d with its complete text. If it has ended meanwhile, d is unchanged.
func wholeDenial(ctx context.Context, store *state.Store, d control.Denial) control.Denial {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := control.Dial(store.Dir(d.Session))
	defer c.Close()
	if whole, err := c.DenialOf(ctx, d.ID); err == nil {
		return whole
	}
	return d
}

// revokeDenial ends the denial with the ID ref, or whose ID begins with ref, and returns its ID. Its requests are
// asked about again.
func revokeDenial(ctx context.Context, store *state.Store, ref string) (id string, err error) {
	all, err := listDenials(ctx, store)
	if err != nil && len(all) == 0 {
		return "", err
	}
	found := slices.DeleteFunc(all, func(d control.Denial) bool { return ref == "" || !strings.HasPrefix(d.ID, ref) })
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no denial %s", names.Quoted(ref))
	case 1:
	default:
		return "", fmt.Errorf("%s names %d denials: give more of the id", names.Quoted(ref), len(found))
	}
	c := control.Dial(store.Dir(found[0].Session))
	defer c.Close()
	return found[0].ID, c.RevokeDenial(ctx, found[0].ID)
}
