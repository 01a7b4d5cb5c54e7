// SPDX-License-Identifier: Apache-2.0

package with

import (
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
)

const composeLong = `Run docker compose with services whose containers can call commands of this host

This is short for docker hostexec with [OPTIONS] -- docker compose ARGS. The containers of the
services that --service names can call the commands of --proxy. Without --service, --label and
--all, containers with the label io.hostexec.proxy are selected, and those of the services in
your configuration (services:).

EXIT STATUS
  The exit code of docker compose, and:
  125  hostexec failed; a line on stderr says why
  127  docker was not found`

const composeExample = `  docker hostexec compose --proxy make --service web -- up -d

  # services with the label io.hostexec.proxy
  docker hostexec compose --proxy make --proxy git=ask -- up -d
  docker hostexec compose --proxy make -- run --rm web make test`

// NewComposeCommand returns the verb compose.
func NewComposeCommand(dockerCLI command.Cli) *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use:               "compose [OPTIONS] -- [docker compose ARGS]",
		Short:             "Run docker compose with services that can call commands of this host",
		Long:              composeLong,
		Example:           composeExample,
		ValidArgsFunction: cli.CompleteFiles, // completes file names only, not compose's own words
		RunE: func(cmd *cobra.Command, args []string) error {
			return runWith(cmd, dockerCLI, &opts, append([]string{"docker", "compose"}, args...))
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}
