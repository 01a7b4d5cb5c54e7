// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"slices"
	"time"
)

// grants are the grants of one session, in a file and in memory. The queue's mu guards them.
type grants struct {
	file string // empty: memory only
	list []Grant
}

// maxGrants is the maximum number of valid grants of a session. A person can read that many.
const maxGrants = 100

// add stores g, unless the waiting calls have used it up.
func (s *grants) add(g Grant, now time.Time) error {
	if !g.valid(now) {
		return nil
	}
	// A grant for changed files replaces the grant for the same files before the change.
	list := slices.DeleteFunc(s.valid(now), func(old Grant) bool {
		return g.Unchanged != nil && old.Unchanged != nil && old.Unchanged.Call == g.Unchanged.Call
	})
	if len(list) >= maxGrants {
		return fmt.Errorf("%d grants of this session hold already: revoke some with docker hostexec policy rm", len(list))
	}
	return s.set(append(list, g))
}

// valid returns a copy of the grants that are still valid.
func (s *grants) valid(now time.Time) []Grant {
	return slices.DeleteFunc(slices.Clone(s.list), func(g Grant) bool { return !g.valid(now) })
}

// use uses the first grant that covers a call. A counted use is written to the file first, so that a restarted
// watcher does not count it again.
func (s *grants) use(covers func(*Grant) bool, now time.Time) (Grant, bool, error) {
	list := s.valid(now)
	i := slices.IndexFunc(list, func(g Grant) bool { return covers(&g) })
	if i < 0 {
		return Grant{}, false, nil
	}
	g := list[i]
	if g.Left == Unlimited {
		return g, true, nil
	}
	if list[i].Left--; list[i].Left == 0 {
		list = slices.Delete(list, i, i+1)
	}
	if err := s.set(list); err != nil {
		return Grant{}, false, err
	}
	return g, true, nil
}

// remove removes the grant id and returns the digest of its question.
func (s *grants) remove(id string) (digest string, err error) {
	list := s.valid(time.Now())
	i := slices.IndexFunc(list, func(g Grant) bool { return g.ID == id })
	if i < 0 {
		return "", ErrNoGrant
	}
	digest = list[i].digest
	return digest, s.set(slices.Delete(list, i, i+1))
}

// set replaces the grants, first in the file and then in memory.
func (s *grants) set(list []Grant) error {
	all := make([]grantJSON, len(list))
	for i, g := range list {
		all[i] = g.fileForm()
	}
	if err := store("grant", s.file, all); err != nil {
		return err
	}
	s.list = list
	return nil
}

// load reads the grants that an earlier queue stored for session in file, and stores later ones there. If any
// part of the file is invalid, load returns an error and there are no grants.
func (s *grants) load(file, session string) (err error) {
	s.file = file
	s.list, err = load("grant", file, func(k grantJSON) (Grant, error) { return k.grant(), k.check(session) })
	return err
}
