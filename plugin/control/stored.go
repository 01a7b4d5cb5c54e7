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

// storedAnswers returns the stored answers of the kind e as a list shows them.
func storedAnswers(dir string, e AnswerKind) ([]StandingAnswer, error) {
	q, err := readStored(dir)
	if err != nil {
		return nil, err
	}
	return listedAnswers(q, e), nil
}

// storedAnswer returns one of the stored answers with complete texts.
func storedAnswer(dir string, e AnswerKind, id string) (StandingAnswer, error) {
	q, err := readStored(dir)
	if err != nil {
		return StandingAnswer{}, err
	}
	for _, d := range e.standing(q) {
		if d.ID == id {
			return shownAnswer(d), nil
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
	if err != nil {
		return err
	}
	return e.revoke(q, id)
}
