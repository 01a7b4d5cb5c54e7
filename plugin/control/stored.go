// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// readStored reads the answers of the session in dir that also hold for later requests: those that the next watcher of
// the session would have.
func readStored(dir string) (*approval.Queue, error) {
	_, session := state.StoreOf(dir)
	q := &approval.Queue{}
	if err := q.LoadDenials(state.DenialsFile(dir), session); err != nil {
		return nil, err
	}
	return q, q.LoadGrants(state.GrantsFile(dir), session)
}

// storedAnswers returns the stored answers of the kind e, as a list shows them or with complete texts.
func storedAnswers(dir string, e AnswerKind, whole bool) ([]StandingAnswer, error) {
	q, err := readStored(dir)
	switch {
	case err != nil:
		return nil, err
	case e == KindDenial && whole:
		return each(q.Denials(), shownDenial), nil
	case e == KindDenial:
		return each(q.Denials(), listedDenial), nil
	case whole:
		return each(q.Grants(), shownGrant), nil
	}
	return each(q.Grants(), listedGrant), nil
}

// each returns the shown forms of all answers.
func each[T any](all []T, show func(T) StandingAnswer) (list []StandingAnswer) {
	for _, one := range all {
		list = append(list, show(one))
	}
	return list
}

// storedAnswer returns one of the stored answers with complete texts.
func storedAnswer(dir string, e AnswerKind, id string) (StandingAnswer, error) {
	all, err := storedAnswers(dir, e, true)
	if err != nil {
		return StandingAnswer{}, err
	}
	for _, g := range all {
		if g.ID == id {
			return g, nil
		}
	}
	return StandingAnswer{}, e.NotFound()
}

// revokeStored ends one of the stored answers. It fails if a watcher serves the session.
func revokeStored(dir string, e AnswerKind, id string) error {
	lock := state.ExistingLock(state.LockFile(dir))
	if ok, err := lock.TryLock(); err != nil {
		return fmt.Errorf("lock the session: %w", err)
	} else if !ok {
		return errors.New("the session is just being resumed: try again")
	}
	defer lock.Close()
	q, err := readStored(dir)
	switch {
	case err != nil:
		return err
	case e == KindDenial:
		return q.RevokeDenial(id)
	}
	return q.Revoke(id)
}
