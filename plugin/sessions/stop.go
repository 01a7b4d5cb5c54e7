// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// DefaultGrace lets the watcher choose the grace period.
const DefaultGrace = time.Duration(-1)

// endTimeout is the time limit for a watcher to end, in addition to the grace period. In that time it removes an
// agent's container, and ends leftover processes of commands.
const endTimeout = 20 * time.Second

// UnstoppedError means that the watcher has not accepted the request to end, so that the session continues.
type UnstoppedError struct{ error }

func (e UnstoppedError) Unwrap() error { return e.error }

// StopWatcher asks the watcher to end, and waits for it. Processes have the grace period between TERM and
// KILL. Without a watcher it returns nil.
func StopWatcher(ctx context.Context, dir, id string, grace time.Duration) error {
	c := control.Dial(dir)
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, max(grace, watch.AgentGrace)+endTimeout)
	defer cancel()
	err := c.Stop(ctx, grace)
	if err != nil && !errors.Is(err, control.ErrNoWatcher) {
		err = UnstoppedError{err}
	}
	for tick := time.NewTicker(20 * time.Millisecond); err == nil; {
		select {
		case <-tick.C:
			// Any other error is of a watcher that is ending.
			if _, serr := c.Status(ctx); errors.Is(serr, control.ErrNoWatcher) {
				return nil
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if errors.Is(err, control.ErrNoWatcher) {
		return nil
	}
	return fmt.Errorf("stop session %s: %w", id, err)
}
