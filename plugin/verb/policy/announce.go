// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// announceTimeout is the time limit for all sessions to read a change.
const announceTimeout = 2 * time.Second

// announced returns cmd, a verb that changes the configuration. After cmd, it asks all sessions for their agent rules,
// so that their watchers read the configuration and write AGENTS.md again. A session that does not answer in time does
// that at its next call.
func announced(cmd *cobra.Command) *cobra.Command {
	cmd.PostRun = func(cmd *cobra.Command, _ []string) {
		store, err := state.OpenReadOnly()
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), announceTimeout)
		defer cancel()
		renew := func(c *control.Client, ctx context.Context) ([]time.Time, error) {
			_, err := c.AgentRules(ctx)
			return nil, err
		}
		_, _ = control.QueryAll(ctx, store, renew, func(t time.Time) time.Time { return t })
	}
	return cmd
}
