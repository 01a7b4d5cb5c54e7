// SPDX-License-Identifier: Apache-2.0

// Package run has the verbs that let a container call commands of the host: run, attach and detach.
//
// The verb run is docker's own run command, with a session for the new container. Only this file depends on how
// docker/cli creates that command.
package run

import (
	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/container"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
)

const runLong = `Create and run a new container that can call commands of this host

This is docker run, with all its flags, and with --proxy. If a program in the container calls a
command of --proxy, the command runs on this host, as you. It runs in the directory of this
host that is mounted at the caller's directory. Arguments, input, output, terminal, signals and
exit status are those of a local command. The container can call no other commands, except for
those that the configuration allows.

make, npm, git and others run code that the container can write. Such a command lets the
container run anything as you. Confine it with where=sandbox, or proxy it only to containers
that you trust. Commands get no entries of PATH that the container can write (a venv,
node_modules/.bin), and no variables that name code there.

Calls use a socket or, where sockets do not work, a relay over docker exec. --carrier auto
chooses. With --http the container can also call over HTTP: POST /request at HOSTEXEC_URL, with
the token in /run/hostexec/token.

EXIT STATUS
  The container's exit code, as with docker run, and:
  125  hostexec or docker failed; a line on stderr says why
  126  the container's command could not be invoked
  127  the container's command was not found`

const runExample = `  # a shell in the container that can call this host's make in the current directory
  docker hostexec run --rm -it --proxy make --workspace debian bash

  # a program at another path, and a command that is refused
  docker hostexec run --rm -it --proxy gcc=/opt/gcc/bin/gcc --proxy git=deny --workspace debian bash

  # pushes of the container's git, with this host's credentials (docs/git.md)
  docker hostexec run --rm -it --proxy git-push --workspace --user $(id -u):$(id -g) my-agent bash

  # calls over HTTP, at the gateway of the container's network
  docker hostexec run --rm -it --http --proxy make --workspace debian bash`

// NewRunCommand returns docker's own run command with hostexec's flags. The new container gets a session.
func NewRunCommand(dockerCLI command.Cli) *cobra.Command {
	var opts launch.Options
	inner := &interposedCLI{Cli: dockerCLI}
	//lint:ignore SA1019 docker run itself is what a user expects; docs/design.md says what replaces it
	cmd := container.NewRunCommand(inner)
	own := pflag.NewFlagSet("hostexec", pflag.ContinueOnError)
	own.SortFlags = false
	opts.AddFlags(own)
	opts.AddHTTPFlags(own)
	groupFlags(cmd, dockerCLI, own)
	cmd.Long = runLong
	cmd.Example = runExample
	delete(cmd.Annotations, "aliases") // the help would name docker run
	showSupported(cmd, dockerCLI)

	docker := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := supported(cmd.Flags(), dockerCLI); err != nil {
			return err
		}
		if err := cli.RefuseEmpty(cmd.Flags(), "workspace", "workdir-host"); err != nil {
			return cli.FailRun(err)
		}
		if err := launch.RefuseBareWorkspace(cmd.Flags(), args); err != nil {
			return cli.FailRun(err)
		}
		if f := cmd.Flags().Lookup("http"); f.Changed && opts.HTTP == "" {
			return cli.FailRun(launch.HTTPUsageError(""))
		}
		p, err := opts.Plan(args[0], cmd.Flags().Changed("workdir"))
		if err != nil {
			return cli.FailRun(err)
		}
		p.Record.Engine = dockerCLI.DockerEndpoint().Host
		p.Record.GlobalArgs = cli.PinEngine(cli.GlobalArgs(dockerCLI), p.Record.Engine)
		return runSession(cmd, args, inner, p, docker)
	}
	return cmd
}

// runSession starts the session of p, and runs docker, the RunE of docker's command, for its container.
func runSession(cmd *cobra.Command, args []string, inner *interposedCLI, p *launch.Plan, docker func(*cobra.Command, []string) error) error {
	ctx, stop := cli.Interruptible(cmd.Context(), inner.Cli)
	defer stop()
	cmd.SetContext(ctx)
	if usesTerminal(cmd.Flags(), inner) {
		if err := cli.AwaitForeground(ctx); err != nil {
			return cli.FailRun(err)
		}
	}
	l, err := launch.Begin(ctx, inner.Cli, p)
	if err != nil {
		return cli.FailRun(cli.CauseOf(ctx, err))
	}
	inner.launch = l
	err = docker(cmd, args)
	if err != nil && l.ID == "" {
		if hint := launch.HintMissingEquals(cmd.Flags(), args[0]); hint != "" {
			cli.Say(inner.Err(), "hint: %s", hint)
		}
	}
	ferr := l.Finish()
	switch {
	case l.ID == "" && l.Interrupted() != nil:
		return cli.FailRun(l.Interrupted())
	case l.Failed != nil:
		return cli.FailRun(l.Failed)
	case err != nil:
		return err // the container's status, or docker's own error
	}
	return cli.FailRun(ferr)
}

// usesTerminal reports whether docker run makes the terminal raw.
func usesTerminal(flags *pflag.FlagSet, dockerCLI command.Cli) bool {
	set := func(name string) bool {
		on, err := flags.GetBool(name)
		return err == nil && on
	}
	return set("interactive") && set("tty") && !set("detach") && dockerCLI.In().IsTerminal()
}
