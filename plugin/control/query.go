// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// ReplyTimeout is the time limit for a watcher's reply.
const ReplyTimeout = 5 * time.Second

// WithClient calls f with a client of the watcher of the session in dir, and closes the client. ctx for f ends after
// ReplyTimeout.
func WithClient(ctx context.Context, dir string, f func(*Client, context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, ReplyTimeout)
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

// QueryAll asks the watchers of all sessions and returns their answers, the oldest first. If a watcher cannot be asked,
// QueryAll returns the other answers together with the error.
func QueryAll[T any](ctx context.Context, store *state.Store, ask func(*Client, context.Context) ([]T, error), when func(T) time.Time) ([]T, error) {
	recs, err := store.List()
	if err != nil {
		return nil, err
	}
	var all []T
	var errs []error
	for _, rec := range recs {
		some, err := Query(ctx, store.Dir(rec.ID), ask)
		if err != nil && !errors.Is(err, ErrNoWatcher) {
			errs = append(errs, fmt.Errorf("session %s: %w", rec.ID, err))
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b T) int { return when(a).Compare(when(b)) })
	return all, errors.Join(errs...)
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
