// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"
)

const rootLong = `Let the programs of a container call commands of this host

  docker hostexec run --proxy make --workspace IMAGE

is docker run, and in that container make is the make of this host. While it runs,
status shows it, and in the container hostexec ls lists what may be called.`

// newRootCommand returns docker hostexec and all its verbs, but for a watcher, which would
// keep what they are made of for all its life.
func newRootCommand(cli command.Cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:              "hostexec",
		Short:            "Let containers call commands of this host",
		Long:             rootLong,
		Args:             noArgs,
		TraverseChildren: true,
		RunE:             command.ShowHelp(cli.Err()),
	}
	cmd.SetFlagErrorFunc(flagError)
	if isWatcher(os.Args) {
		cmd.AddCommand(newWatcherCommand(cli))
		return cmd
	}
	run := newRunCommand(cli)
	run.SetFlagErrorFunc(dockercli.FlagErrorFunc) // docker run's own code too
	cmd.AddCommand(
		run,
		newAgentCommand(cli),
		newProxyCommand(cli),
		newAttachCommand(cli),
		newDetachCommand(cli),
		newStatusCommand(cli),
		newInspectCommand(cli),
		newPendingCommand(cli),
		newUICommand(cli),
		newApproveCommand(cli),
		newDenyCommand(cli),
		newPolicyCommand(cli),
		newTrustCommand(cli),
		newPsCommand(cli),
		newKillCommand(cli),
		newShellCommand(cli),
		newStopCommand(cli),
		newLogsCommand(cli),
		newAuditCommand(cli),
		newReplayCommand(cli),
		newResumeCommand(cli),
		newPruneCommand(cli),
		newServiceCommand(cli),
		newDoctorCommand(cli),
		newVersionCommand(cli),
		newComposeCommand(cli),
		newDevcontainerCommand(cli),
		newWatcherCommand(cli),
	)
	completeFlags(cmd, cli)
	return cmd
}

// noArgs makes a mistyped verb an error: a command with RunE would take it as an argument.
func noArgs(cmd *cobra.Command, args []string) error { return dockercli.NoArgs(cmd, args) }

// flagError has docker's words for a flag that is none, and our verbs' code.
func flagError(cmd *cobra.Command, err error) error {
	return dockercli.StatusError{Status: dockercli.FlagErrorFunc(cmd, err).Error(), StatusCode: codeVerb}
}

// verb is a RunE whose errors are ours.
func verb(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err == nil {
			return nil
		}
		return &failure{code: codeVerb, err: err}
	}
}
