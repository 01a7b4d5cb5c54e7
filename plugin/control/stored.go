// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Stored are the answers of a session without a watcher that also hold for later requests: those that its next watcher
// would have.
type Stored struct{ queue approval.Queue }

// ReadStored reads the answers that the watcher of the session in dir has stored.
func ReadStored(dir string) (*Stored, error) {
	_, session := state.StoreOf(dir)
	s := &Stored{}
	if err := s.queue.LoadDenials(state.DenialsFile(dir), session); err != nil {
		return nil, err
	}
	return s, s.queue.Load(state.GrantsFile(dir), session)
}

// Answers returns the answers with the effect e, with complete texts.
func (s *Stored) Answers(e Effect) (all []Grant) {
	if e == EffectDenial {
		for _, d := range s.queue.Denials() {
			all = append(all, shownDenial(d))
		}
		return all
	}
	for _, g := range s.queue.Grants() {
		all = append(all, shownGrant(g))
	}
	return all
}

// RevokeStored ends one of the answers that the session in dir has stored. It fails if a watcher serves the session.
func RevokeStored(dir string, e Effect, id string) error {
	lock := state.ExistingLock(state.LockFile(dir))
	if ok, err := lock.TryLock(); err != nil {
		return fmt.Errorf("lock the session: %w", err)
	} else if !ok {
		return errors.New("the session is just being resumed: try again")
	}
	defer lock.Close()
	s, err := ReadStored(dir)
	switch {
	case err != nil:
		return err
	case e == EffectDenial:
		return s.queue.RevokeDenial(id)
	}
	return s.queue.Revoke(id)
}
