// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const detachLong = `Undo attach: calls of the container end, and what attach put into it is removed

The container must run. What else is in the directories stays. A container whose root has
removed or replaced it has no session any more either: attach puts it there anew.

EXIT STATUS
  0  nothing of attach is left
  1  it is not attached, or something is left; a line on stderr says what`

// NewDetachCommand returns the verb detach.
func NewDetachCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "detach SESSION|CONTAINER",
		Short:             "Undo attach",
		Long:              detachLong,
		Example:           "  docker hostexec detach web",
		Args:              dockercli.ExactArgs(1),
		ValidArgsFunction: cli.CompleteFirst(sessions.Complete),
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			store, err := state.Open()
			if err != nil {
				return err
			}
			if err := launch.Detach(cmd.Context(), dockerCLI, store, args[0]); err != nil {
				return err
			}
			fmt.Fprintln(dockerCLI.Out(), args[0])
			return nil
		}),
	}
}
