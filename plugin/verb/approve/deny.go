// SPDX-License-Identifier: Apache-2.0

package approve

import (
	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const denyLong = `Refuse requests that wait for you

The callers are told the reason, and exit with 126. The same request is refused unasked for
ten seconds then, and for longer each time that it is denied. REQUEST is an id, or at least
its first 8 characters.

EXIT STATUS
  0  all were refused
  1  at least one does not wait, any more or at all`

// NewDenyCommand returns the verb deny.
func NewDenyCommand(dockerCLI command.Cli) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:               "deny [OPTIONS] REQUEST [REQUEST...]",
		Short:             "Refuse requests that wait for approval",
		Long:              denyLong,
		Example:           "  docker hostexec deny -m 'push to a branch, not to main' 3f1c9a0b",
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: completeRequests,
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			store, err := state.Open()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return settle(ctx, store, args, func(c *control.Client, q control.Question) error {
				return c.Deny(ctx, q, reason)
			}, printer(dockerCLI))
		}),
	}
	cmd.Flags().StringVarP(&reason, "message", "m", "", "Why, for the caller and the audit log")
	return cmd
}
