// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"os"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/spelling"
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
	}
	version := cmd.Flags().BoolP("version", "v", false, "Show the version")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			return writeVersion(cli.Out(), "", thisVersion())
		}
		return command.ShowHelp(cli.Err())(cmd, args)
	}
	cmd.SetFlagErrorFunc(flagError)
	if isWatcher(os.Args) {
		cmd.AddCommand(newWatcherCommand(cli))
		return cmd
	}
	cmd.AddCommand(
		misusedAsRun(newRunCommand(cli)),
		newAgentCommand(cli), // which reports errors as JSON, too
		newAgentRulesCommand(cli),
		newProxyCommand(cli),
		misusedWhole(newAttachCommand(cli)),
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
		newStartCommand(cli),
		newStopCommand(cli),
		newLogsCommand(cli),
		newAuditCommand(cli),
		newReplayCommand(cli),
		newResumeCommand(cli),
		newPruneCommand(cli),
		newServiceCommand(cli),
		newDoctorCommand(cli),
		newVersionCommand(cli),
		newHelpCommand(cli),
		misusedAsRun(newComposeCommand(cli)),
		misusedWhole(newDevcontainerCommand(cli)),
		newWatcherCommand(cli),
	)
	completeFlags(cmd, cli)
	return cmd
}

// noArgs makes a mistyped verb an error: a command with RunE would take it as an argument.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.HasSubCommands() {
		return unknownVerb(cmd, args)
	}
	return dockercli.NoArgs(cmd, args)
}

// unknownVerb returns the error for a word after cmd that is none of its verbs, with the verb that may have been meant.
func unknownVerb(cmd *cobra.Command, args []string) error {
	err := fmt.Errorf("unknown verb: %s", printable(args[0]))
	next := cmd.CommandPath() + " --help"
	if near := spelling.Near(args[0], verbs(cmd)); near != "" {
		next = cmd.CommandPath() + " " + near
	}
	return &failure{code: codeVerb, err: hint(err, next)}
}

// flagError returns docker's error for an unknown flag, with our verbs' exit code. After an unknown
// verb the verb is the error, not the flag.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasSubCommands() {
		return unknownVerb(cmd, args)
	}
	return dockercli.StatusError{Status: dockercli.FlagErrorFunc(cmd, err).Error(), StatusCode: codeVerb}
}

// misusedAsRun makes a wrong flag end cmd with docker run's exit code, as other failures of cmd do.
func misusedAsRun(cmd *cobra.Command) *cobra.Command {
	cmd.SetFlagErrorFunc(dockercli.FlagErrorFunc)
	return cmd
}

// misusedWhole is misusedAsRun for a wrong number of arguments, too; docker run itself ends with 1 then.
func misusedWhole(cmd *cobra.Command) *cobra.Command {
	args := cmd.Args
	cmd.Args = func(cmd *cobra.Command, words []string) error {
		if err := args(cmd, words); err != nil {
			return dockercli.StatusError{Status: err.Error(), StatusCode: codeRun}
		}
		return nil
	}
	return misusedAsRun(cmd)
}

type runE = func(cmd *cobra.Command, args []string) error

// verb returns a RunE that reports errors in our form and ends on a signal.
func verb(run runE) runE {
	handled := handlesSignals(run)
	return func(cmd *cobra.Command, args []string) error {
		defer endOnSignal(cmd.Context())()
		return handled(cmd, args)
	}
}

// handlesSignals is verb for a command that handles signals itself.
func handlesSignals(run runE) runE {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		var told *interrupted
		switch {
		case err == nil:
			return nil
		case errors.As(err, &told):
			return told.status()
		}
		return &failure{code: codeVerb, err: err}
	}
}
