// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/verb/agent"
	"github.com/docker-hostexec/hostexec/plugin/verb/approve"
	"github.com/docker-hostexec/hostexec/plugin/verb/audit"
	"github.com/docker-hostexec/hostexec/plugin/verb/devcontainer"
	"github.com/docker-hostexec/hostexec/plugin/verb/doctor"
	"github.com/docker-hostexec/hostexec/plugin/verb/job"
	"github.com/docker-hostexec/hostexec/plugin/verb/policy"
	"github.com/docker-hostexec/hostexec/plugin/verb/proxy"
	"github.com/docker-hostexec/hostexec/plugin/verb/run"
	"github.com/docker-hostexec/hostexec/plugin/verb/service"
	"github.com/docker-hostexec/hostexec/plugin/verb/session"
	"github.com/docker-hostexec/hostexec/plugin/verb/shell"
	"github.com/docker-hostexec/hostexec/plugin/verb/with"
)

const rootLong = `Let the programs of a container call commands of this host

  docker hostexec run --proxy make --workspace IMAGE

This is docker run, but make in the container runs this host's make. docker hostexec status
lists sessions. In the container, hostexec ls lists the commands.`

// newRootCommand returns docker hostexec and all its verbs. A watcher does not need it, and would keep it in
// memory.
func newRootCommand(dockerCLI command.Cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:              "hostexec",
		Short:            "Let containers call commands of this host",
		Long:             rootLong,
		Args:             cli.NoArgs,
		TraverseChildren: true,
	}
	version := cmd.Flags().BoolP("version", "v", false, "Show the version")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			return writeVersion(dockerCLI.Out(), "", thisVersion())
		}
		return command.ShowHelp(dockerCLI.Err())(cmd, args)
	}
	cmd.SetFlagErrorFunc(flagError)
	if session.IsWatcher(os.Args) {
		cmd.AddCommand(session.NewWatcherCommand(dockerCLI))
		return cmd
	}
	cmd.AddCommand(verbs(dockerCLI)...)
	completeFlags(cmd, completions(dockerCLI))
	return cmd
}

// verbs returns all verbs.
func verbs(dockerCLI command.Cli) []*cobra.Command {
	return []*cobra.Command{
		cli.FlagsAsRun(run.NewRunCommand(dockerCLI)),
		agent.NewCommand(dockerCLI), // also reports errors as JSON
		agent.NewRulesCommand(dockerCLI),
		cli.FlagsAsRun(with.NewCommand(dockerCLI)),
		cli.ArgsAsRun(proxy.NewCommand(dockerCLI)),
		cli.ArgsAsRun(run.NewAttachCommand(dockerCLI)),
		run.NewDetachCommand(dockerCLI),
		session.NewStatusCommand(dockerCLI),
		session.NewInspectCommand(dockerCLI),
		approve.NewPendingCommand(dockerCLI),
		approve.NewUICommand(dockerCLI),
		approve.NewApproveCommand(dockerCLI),
		approve.NewDenyCommand(dockerCLI),
		policy.NewCommand(dockerCLI, agent.CheckConfig),
		policy.NewTrustCommand(dockerCLI),
		job.NewPsCommand(dockerCLI),
		job.NewKillCommand(dockerCLI),
		shell.NewCommand(dockerCLI),
		session.NewStartCommand(dockerCLI),
		session.NewStopCommand(dockerCLI),
		job.NewLogsCommand(dockerCLI),
		audit.NewCommand(dockerCLI),
		job.NewReplayCommand(dockerCLI),
		session.NewResumeCommand(dockerCLI),
		session.NewPruneCommand(dockerCLI, devcontainer.PruneShares, with.PruneAPIProxies(dockerCLI)),
		service.NewCommand(dockerCLI),
		doctor.NewCommand(dockerCLI),
		newVersionCommand(dockerCLI),
		newHelpCommand(dockerCLI),
		newManCommand(dockerCLI),
		newCompletionCommand(dockerCLI),
		cli.FlagsAsRun(with.NewComposeCommand(dockerCLI)),
		cli.ArgsAsRun(devcontainer.NewCommand(dockerCLI)),
		session.NewWatcherCommand(dockerCLI),
	}
}

// flagError returns docker's error for an unknown flag, with our verbs' exit code. After an unknown
// verb the verb is the error, not the flag.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasSubCommands() {
		return cli.UnknownVerb(cmd, args)
	}
	return dockercli.StatusError{Status: cli.FlagError(cmd, err).Error(), StatusCode: cli.CodeVerb}
}
