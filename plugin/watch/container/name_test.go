// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// restartingEngine is an engine that ends each subscription after one event.
type restartingEngine struct{ watch.Engine }

func (restartingEngine) Events(context.Context, events.ListOptions) (<-chan events.Message, <-chan error) {
	received, failed := make(chan events.Message), make(chan error, 1)
	// ends when the event is received.
	go func() {
		received <- events.Message{Action: events.ActionStart}
		failed <- io.EOF
	}()
	return received, failed
}

// TestFollowEvents subscribes again after an error, and reports each subscription, until the callback fails.
func TestFollowEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		follow := func(ctx context.Context, f func(events.Action) error) error {
			return followEvents(ctx, restartingEngine{}, filters.NewArgs(), slog.New(slog.DiscardHandler), f)
		}
		var got []events.Action
		full := errors.New("enough")
		err := follow(t.Context(), func(event events.Action) error {
			if got = append(got, event); len(got) == 4 {
				return full
			}
			return nil
		})
		if want := []events.Action{"", events.ActionStart, "", events.ActionStart}; err != full || !slices.Equal(got, want) {
			t.Errorf("followEvents = %v after %q, want %v after %q", err, got, full, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := follow(ctx, func(events.Action) error { return nil }); err != nil {
			t.Errorf("after the end: followEvents = %v", err)
		}
	})
}
