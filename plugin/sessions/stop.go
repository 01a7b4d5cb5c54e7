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

// DefaultGrace has the watcher choose the grace.
const DefaultGrace = time.Duration(-1)

// ending is how long a watcher may take to end, in addition to the grace: it removes an agent's
// container, and ends what commands have left running.
const ending = 20 * time.Second

// StopWatcher asks the watcher to end, and returns when it has ended. All that it ends has grace
// between TERM and KILL. Without a watcher it returns nil.
func StopWatcher(ctx context.Context, dir, id string, grace time.Duration) error {
	c := control.Dial(dir)
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, max(grace, watch.AgentGrace)+ending)
	defer cancel()
	err := c.Stop(ctx, grace)
	for tick := time.NewTicker(20 * time.Millisecond); err == nil; {
		select {
		case <-tick.C:
			// Another error is of one that is closing its doors: it has not gone yet.
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
