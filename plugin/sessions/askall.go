// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// AskAll asks the watchers of all sessions and returns their answers, of the oldest session first. If a
// watcher cannot be asked, AskAll returns the other answers together with the error.
func AskAll[T any](ctx context.Context, store *state.Store, ask func(*control.Client, context.Context) ([]T, error), when func(T) time.Time) ([]T, error) {
	recs, err := store.List()
	if err != nil {
		return nil, err
	}
	var all []T
	var errs []error
	for _, rec := range recs {
		some, err := askOne(ctx, store.Dir(rec.ID), ask)
		if err != nil && !errors.Is(err, control.ErrNoWatcher) {
			errs = append(errs, fmt.Errorf("session %s: %w", rec.ID, err))
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b T) int { return when(a).Compare(when(b)) })
	return all, errors.Join(errs...)
}

func askOne[T any](ctx context.Context, dir string, ask func(*control.Client, context.Context) ([]T, error)) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := control.Dial(dir)
	defer c.Close()
	return ask(c, ctx)
}
