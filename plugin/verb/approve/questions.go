// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// questions returns the waiting requests of all sessions, oldest first.
func questions(ctx context.Context, store *state.Store) ([]control.Question, error) {
	return sessions.AskAll(ctx, store, (*control.Client).Pending, func(q control.Question) time.Time { return q.Asked })
}

// wholeQuestion returns q with its complete text, which lists truncate.
func wholeQuestion(ctx context.Context, store *state.Store, q control.Question) (control.Question, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := control.Dial(store.Dir(q.Session))
	defer c.Close()
	whole, err := c.Whole(ctx, q)
	if err != nil {
		return q, fmt.Errorf("request %s: %w", q.ID, err)
	}
	return whole, nil
}

// settle answers the requests that refs name by ID or by its beginning, and calls done for each.
func settle(ctx context.Context, store *state.Store, refs []string, answer func(*control.Client, control.Question) error, done func(id string)) error {
	all, err := questions(ctx, store)
	if err != nil && len(all) == 0 {
		return err
	}
	var errs []error
	for _, ref := range refs {
		q, err := request(all, ref)
		if err == nil {
			err = answerOne(ctx, store, q, answer)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done(q.ID)
	}
	return errors.Join(errs...)
}

func answerOne(ctx context.Context, store *state.Store, q control.Question, answer func(*control.Client, control.Question) error) error {
	id := q.ID
	c := control.Dial(store.Dir(q.Session))
	defer c.Close()
	q, err := c.Whole(ctx, q) // it has the digest that an answer needs
	if err == nil {
		err = answer(c, q)
	}
	if errors.Is(err, approval.ErrNoInputs) {
		return fmt.Errorf("request %s: %w: %s", id, err, q.NoInputs)
	}
	if errors.Is(err, approval.ErrUnknown) || errors.Is(err, control.ErrNoWatcher) {
		return fmt.Errorf("request %s does not wait any more", id)
	}
	return err
}

// minID is the minimum length of a given beginning of an ID. A container knows the IDs of its requests,
// and could repeat requests until one begins like the ID that a person has seen. For this length there is not
// enough time.
const minID = 8

// request returns the request with the ID ref, or whose ID begins with ref.
func request(all []control.Question, ref string) (control.Question, error) {
	var found []control.Question
	for _, q := range all {
		ids := append([]string{q.ID}, q.Waiting...) // the first caller may have left
		if slices.Contains(ids, ref) {
			return q, nil
		}
		if ref != "" && slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, ref) }) {
			found = append(found, q)
		}
	}
	switch {
	case len(found) == 0:
		return control.Question{}, cli.Hint(fmt.Errorf("no request %s waits for approval", names.Quoted(ref)), "docker hostexec pending")
	case len(ref) < minID:
		return control.Question{}, fmt.Errorf("%s is too little of an id: give %d characters at least", names.Quoted(ref), minID)
	case len(found) > 1:
		return control.Question{}, fmt.Errorf("%s names %d requests: give more of the id", names.Quoted(ref), len(found))
	}
	return found[0], nil
}
