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
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// listGrants returns the grants of all sessions with a watcher, oldest first.
func listGrants(ctx context.Context, store *state.Store) ([]control.Grant, error) {
	return sessions.AskAll(ctx, store, (*control.Client).Grants, func(g control.Grant) time.Time { return g.Made })
}

// revokeGrant ends the grant with the ID ref, or whose ID begins with ref, and returns its ID. Its requests
// are asked about again.
func revokeGrant(ctx context.Context, store *state.Store, ref string) (id string, err error) {
	all, err := listGrants(ctx, store)
	if err != nil && len(all) == 0 {
		return "", err
	}
	found := slices.DeleteFunc(all, func(g control.Grant) bool { return ref == "" || !strings.HasPrefix(g.ID, ref) })
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no grant %s", names.Quoted(ref))
	case 1:
	default:
		return "", fmt.Errorf("%s names %d grants: give more of the id", names.Quoted(ref), len(found))
	}
	c := control.Dial(store.Dir(found[0].Session))
	defer c.Close()
	return found[0].ID, c.Revoke(ctx, found[0].ID)
}

// grantPrefix distinguishes a grant's ID from a rule's name. No rule has such a name.
const grantPrefix = "grant/"

// grantRows returns the grants as rows of policy ls, with complete or truncated texts.
func grantRows(ctx context.Context, store *state.Store, whole bool) ([]*policyRow, error) {
	all, err := listGrants(ctx, store)
	var rows []*policyRow
	for _, g := range all {
		if whole && g.Cut != nil {
			g = wholeGrant(ctx, store, g)
		}
		r := newPolicyRow()
		r.rule, r.action, r.matches, r.where = grantPrefix+g.ID, policy.Allow.String(), g.Line()+" in "+g.Dir, g.Container+", "+validFor(g)
		rows = append(rows, r)
	}
	return rows, err
}

// wholeGrant returns g with its complete text. If it has ended meanwhile, g is unchanged.
func wholeGrant(ctx context.Context, store *state.Store, g control.Grant) control.Grant {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := control.Dial(store.Dir(g.Session))
	defer c.Close()
	if all, err := c.GrantOf(ctx, g.ID); err == nil {
		return all
	}
	return g
}

// clock returns the local time of day, with the day unless it is today.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// validFor returns for how long a grant is valid.
func validFor(g control.Grant) string {
	if g.Unchanged != nil {
		files := g.Unchanged
		g.Unchanged = nil
		return validFor(g) + ", while unchanged: " + files.String()
	}
	switch {
	case g.Left > 0:
		return cli.Count(g.Left, "call")
	case !g.Until.IsZero():
		return "until " + clock(g.Until, time.Now())
	}
	return "its session"
}
