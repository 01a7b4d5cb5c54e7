// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Find returns the session that ref names. ref is an id, a container's name, or a unique prefix of an id
// or of a container's id.
func (s *Store) Find(ref string) (Session, error) {
	all, err := s.List()
	if err != nil {
		return Session{}, err
	}
	return FindIn(all, ref)
}

// FindIn is Find among all, which are sorted by age, the oldest first.
func FindIn(all []Session, ref string) (Session, error) {
	if ref == "" {
		return Session{}, errors.New(`no such session: ""`)
	}
	// The newest session comes first, because an older container may have had the same name. Ids come
	// before names, because a user could choose another session's id as a name.
	for _, matches := range []func(Session) bool{
		func(rec Session) bool { return rec.ID == ref },
		func(rec Session) bool { return rec.Container == ref },
		func(rec Session) bool { return rec.ContainerName == ref },
	} {
		for _, rec := range slices.Backward(all) {
			if matches(rec) {
				return rec, nil
			}
		}
	}
	var matching []Session
	for _, rec := range slices.Backward(all) {
		if strings.HasPrefix(rec.ID, ref) || strings.HasPrefix(rec.Container, ref) {
			matching = append(matching, rec)
		}
	}
	switch len(matching) {
	case 0:
		return Session{}, fmt.Errorf("no such session: %s", names.Quoted(ref))
	case 1:
		return matching[0], nil
	}
	ids := make([]string, len(matching))
	for i, rec := range matching {
		ids[i] = rec.ID
	}
	return Session{}, fmt.Errorf("%s names %d sessions: %s", names.Quoted(ref), len(matching), strings.Join(ids, ", "))
}
