// SPDX-License-Identifier: Apache-2.0

// Package shell has the verb shell, which creates, lists and ends the shells of a session, and runs texts (bash code)
// in them.
package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const shellLong = `Use a session's shells, which keep their directory, variables and functions

The container uses the same shells with hostexec session. A shell is a bash on this host or,
with create --in, in a running container that has bash. The audit log records your commands as
approved by you. The policy decides on commands of the container.

EXIT STATUS
  0 to 255  exec and start: the exit code of the command
  1         exec and start: --cwd cannot be entered; other verbs: they failed
  2         exec and start: --env has no valid name of a variable
  124       exec and start: the timeout expired
  125       exec and start: the shell is not ready or has ended; or the command line is wrong`

// NewCommand returns the verb shell.
func NewCommand(dockerCLI command.Cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "shell",
		Aliases: []string{"session"},
		Short:   "Use shells that keep their state",
		Long:    shellLong,
		Example: "  docker hostexec shell exec web build -- 'cd server && make'",
		Args:    cli.NoArgs,
		RunE:    command.ShowHelp(dockerCLI.Err()),
	}
	cmd.AddCommand(newShellCreateCommand(dockerCLI), newShellRunCommand(dockerCLI, false), newShellRunCommand(dockerCLI, true),
		newShellLsCommand(dockerCLI), newShellRmCommand())
	return cmd
}

// dialSession connects to the watcher of the session that ref names.
func dialSession(ref string) (*control.Client, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	rec, err := store.Find(ref)
	if err != nil {
		return nil, cli.Hint(err, "docker hostexec status")
	}
	return control.Dial(store.Dir(rec.ID)), nil
}

func newShellCreateCommand(dockerCLI command.Cli) *cobra.Command {
	var o control.ShellOptions
	cmd := &cobra.Command{
		Use: "create [OPTIONS] SESSION|CONTAINER NAME", Short: "Create a shell", Long: createLong, Example: createExample,
		Args: dockercli.ExactArgs(2), ValidArgsFunction: cli.CompleteFirst(sessions.Complete),
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			c, err := dialSession(args[0])
			if err != nil {
				return err
			}
			defer c.Close()
			if err := placeShell(dockerCLI, &o); err != nil {
				return err
			}
			if err := c.CreateShell(cmd.Context(), args[1], o); err != nil {
				return shellError(args[0], args[1], err)
			}
			return nil
		}),
	}
	cmd.Flags().StringArrayVarP(&o.Env, "env", "e", nil, "Set a variable of the shell (`NAME=VALUE`)")
	cmd.Flags().StringVar(&o.Dir, "cwd", "", "Start in this `directory` of the host or container; default: HOME")
	cmd.Flags().StringVar(&o.In, "in", "", "Create it in a running `container` (name or id) instead of on this host")
	return cmd
}

// placeShell makes a relative host directory absolute. It is relative to this process's directory, not to the
// watcher's.
func placeShell(dockerCLI command.Cli, o *control.ShellOptions) (err error) {
	if o.Dir == "" || o.In != "" {
		return nil
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return fmt.Errorf("--cwd: %w", err)
	}
	if fi, err := os.Stat(o.Dir); err != nil || !fi.IsDir() {
		cli.Say(dockerCLI.Err(), "warning: %s is not a directory: the shell starts in HOME", names.Quoted(o.Dir))
	}
	return nil
}

func newShellRmCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm SESSION|CONTAINER NAME", Short: "End a shell and its processes", Long: rmLong, Example: "  docker hostexec shell rm web build",
		Args: dockercli.ExactArgs(2), ValidArgsFunction: completeShells,
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			c, err := dialSession(args[0])
			if err != nil {
				return err
			}
			defer c.Close()
			return c.RemoveShell(cmd.Context(), args[1])
		}),
	}
}

func newShellRunCommand(dockerCLI command.Cli, start bool) *cobra.Command {
	c := control.ShellCommand{Start: start}
	var timeout time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use: "exec [OPTIONS] SESSION|CONTAINER NAME -- TEXT...", Short: "Run bash code in a shell, which keeps the changes", Long: execLong, Example: execExample,
		Args: dockercli.RequiresMinArgs(3), ValidArgsFunction: completeShells,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Text = strings.Join(args[2:], " ")
			c.Timeout = (timeout + time.Millisecond - 1).Milliseconds() // 0 would mean no limit
			if timeout < 0 {
				return notRun(dockerCLI, c, asJSON, cli.CodeRun, fmt.Errorf("--timeout %v: must not be negative", timeout))
			}
			return runInShell(cmd.Context(), dockerCLI, args[0], args[1], c, asJSON)
		},
	}
	if start {
		cmd.Use, cmd.Short = strings.Replace(cmd.Use, "exec", "start", 1), "Run bash code in a copy of a shell, without waiting for the shell"
		cmd.Long, cmd.Example = startLong, startExample
	}
	cmd.Flags().StringArrayVarP(&c.Env, "env", "e", nil, "Set a variable for this text only (`NAME=VALUE`)")
	cmd.Flags().StringVar(&c.Dir, "cwd", "", "Run this text in this `directory`")
	usage := "Print one JSON object at the end: command, stdout, stderr, exit_code, duration, timestamp"
	if start {
		usage = "Print a line of JSON for each event: start, stdout and stderr, complete"
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, usage)
	cmd.Flags().Var((*timeLimit)(&timeout), "timeout", "End the text, but not the shell, after this `time`")
	return reportUsage(dockerCLI, cli.ArgsAsRun(cmd), &c, &asJSON)
}

// timeLimit is the value of --timeout: a duration or, as in the container, a number of seconds.
type timeLimit time.Duration

func (l *timeLimit) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d == 0 && strings.ContainsAny(text, "123456789") { // 0 would mean no limit
		return errors.New("want a time such as 5s, 2m or 300")
	}
	*l = timeLimit(d)
	return nil
}

func (l *timeLimit) Type() string { return "duration" }

// String returns "" for no limit, so that the help shows no default.
func (l *timeLimit) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}

// completeShells completes a session, and then its shells.
func completeShells(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return sessions.Complete(cmd, given, typed)
	}
	if len(given) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	store, err := state.OpenReadOnly()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	rec, err := store.Find(given[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := control.Query(context.Background(), store.Dir(rec.ID), (*control.Client).Shells) // an error completes nothing
	var names []string
	for _, sh := range all {
		names = append(names, sh.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
