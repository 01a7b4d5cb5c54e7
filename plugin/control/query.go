// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// ReplyTimeout is the time limit for a watcher's reply.
const ReplyTimeout = 5 * time.Second

// WithClient calls f with a client of the watcher of the session in dir, and closes the client. ctx for f ends after
// ReplyTimeout.
func WithClient(ctx context.Context, dir string, f func(*Client, context.Context) error) error {
	ctx, cancel := withReplyTimeout(ctx)
	defer cancel()
	c := Dial(dir)
	defer c.Close()
	return f(c, ctx)
}

// Query is like WithClient, for a function with a result.
func Query[T any](ctx context.Context, dir string, ask func(*Client, context.Context) (T, error)) (reply T, err error) {
	err = WithClient(ctx, dir, func(c *Client, ctx context.Context) (err error) {
		reply, err = ask(c, ctx)
		return err
	})
	return reply, err
}

// QueryAll asks the watchers of all sessions and returns their answers, the oldest first. It asks them at the same time,
// so that none delays the others. If a watcher cannot be asked, QueryAll returns the other answers together with the
// error.
func QueryAll[T any](ctx context.Context, store *state.Store, ask func(*Client, context.Context) ([]T, error), when func(T) time.Time) ([]T, error) {
	recs, err := store.List()
	if err != nil {
		return nil, err
	}
	some, errs := Each(recs, func(rec state.Session) ([]T, error) {
		answers, err := Query(ctx, store.Dir(rec.ID), ask)
		if err != nil && !errors.Is(err, ErrNoWatcher) {
			return answers, fmt.Errorf("session %s: %w", rec.ID, err)
		}
		return answers, nil
	})
	all := slices.Concat(some...)
	slices.SortStableFunc(all, func(a, b T) int { return when(a).Compare(when(b)) })
	return all, errors.Join(errs...)
}

// Each calls ask for each session of recs at the same time, and returns the results in the order of recs.
func Each[T any](recs []state.Session, ask func(state.Session) (T, error)) ([]T, []error) {
	all, errs := make([]T, len(recs)), make([]error, len(recs))
	var wg sync.WaitGroup
	for i, rec := range recs {
		// ends with ask, which has a time limit; Each waits for it.
		wg.Go(func() { all[i], errs[i] = ask(rec) })
	}
	wg.Wait()
	return all, errs
}

// AllPending returns the waiting questions of all sessions, like QueryAll.
func AllPending(ctx context.Context, store *state.Store) ([]Question, error) {
	return QueryAll(ctx, store, (*Client).Pending, func(q Question) time.Time { return q.Asked })
}

// AllAnswers returns the answers of all sessions that also hold for later requests, like QueryAll. A session without a
// watcher has its stored answers: they hold again when it is resumed.
func AllAnswers(ctx context.Context, store *state.Store, e AnswerKind) ([]StandingAnswer, error) {
	list := func(c *Client, ctx context.Context) ([]StandingAnswer, error) { return c.Answers(ctx, e) }
	return QueryAll(ctx, store, list, func(g StandingAnswer) time.Time { return g.Made })
}

// Whole returns q with complete texts, from the watcher of its session.
func Whole(ctx context.Context, store *state.Store, q Question) (Question, error) {
	return Query(ctx, store.Dir(q.Session), func(c *Client, ctx context.Context) (Question, error) { return c.Complete(ctx, q) })
}
