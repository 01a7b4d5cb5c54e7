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

const detachLong = `Undo attach: end the container's calls, and remove the files that attach copied into it

The container must run. Other files in /run/hostexec and /usr/local/bin stay.

EXIT STATUS
  0  nothing of attach is left
  1  the container is not attached, or files are left; a line on stderr says which`

// NewDetachCommand returns the verb detach.
func NewDetachCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "detach SESSION|CONTAINER",
		Short:             "Undo attach",
		Long:              detachLong,
		Example:           "  docker hostexec detach web",
		Args:              dockercli.ExactArgs(1),
		ValidArgsFunction: cli.CompleteFirst(sessions.Complete),
		RunE: cli.Verb(cli.With(state.Open, func(cmd *cobra.Command, store *state.Store, args []string) error {
			if err := launch.Detach(cmd.Context(), dockerCLI, store, args[0]); err != nil {
				return err
			}
			fmt.Fprintln(dockerCLI.Out(), args[0])
			return nil
		})),
	}
}
