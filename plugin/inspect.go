// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/inspect"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

const inspectLong = `Show all there is to know of sessions, as a JSON array

A session is named by its ID, its container's name, or the beginning of either's ID.

EXIT STATUS
  0  all were shown
  1  at least one was not found`

func newInspectCommand(dockerCLI command.Cli) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "inspect [OPTIONS] SESSION|CONTAINER [SESSION|CONTAINER...]",
		Short:             "Show details of sessions",
		Long:              inspectLong,
		Example:           "  docker hostexec inspect --format '{{.State}}' web",
		Args:              cli.RequiresMinArgs(1),
		ValidArgsFunction: completeSessions,
		RunE: verb(func(cmd *cobra.Command, args []string) error {
			store, err := state.Open()
			if err != nil {
				return err
			}
			get := func(ref string) (any, []byte, error) {
				s, err := lookAt(cmd.Context(), dockerCLI, store, ref)
				return s, nil, err
			}
			return inspect.Inspect(dockerCLI.Out(), args, format, get)
		}),
	}
	cmd.Flags().StringVarP(&format, "format", "f", "", "Format output: `json|TEMPLATE`")
	return cmd
}
