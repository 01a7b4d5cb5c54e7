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

const denyLong = `Refuse requests that docker hostexec pending lists

The callers get the reason, and exit with 126. For the next ten seconds the same request is
refused without a question. After each further denial that time is longer. With --always, the
same request is refused for the whole session. docker hostexec policy ls lists these denials,
and policy rm removes them. REQUEST is an id, or at least its first 8 characters.

EXIT STATUS
  0  all requests were refused
  1  at least one request was not refused`

// NewDenyCommand returns the verb deny.
func NewDenyCommand(dockerCLI command.Cli) *cobra.Command {
	var reason string
	var always bool
	cmd := &cobra.Command{
		Use:               "deny [OPTIONS] REQUEST [REQUEST...]",
		Short:             "Refuse requests that wait",
		Long:              denyLong,
		Example:           "  docker hostexec deny -m 'push to a branch, not to main' 3f1c9a0b\n  docker hostexec deny --always 3f1c9a0b",
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: completeRequests,
		RunE: cli.Verb(cli.With(state.Open, func(cmd *cobra.Command, store *state.Store, args []string) error {
			ctx := cmd.Context()
			return answering{cmd, dockerCLI, "refused", func(c *control.Client, q control.Question) error {
				return c.Deny(ctx, q, reason, always)
			}}.settle(ctx, store, args)
		})),
	}
	cmd.Flags().StringVarP(&reason, "message", "m", "", "The reason, for the caller and the audit log")
	cmd.Flags().BoolVar(&always, "always", false, "Refuse the same request without a question for this session")
	return cmd
}
