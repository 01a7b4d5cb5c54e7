// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/formatter"
	"github.com/docker/cli/cli/command/inspect"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const inspectLong = `Show all details of sessions, as a JSON array

Name a session by its ID, its container's ID, the beginning of one of them, or the container's
name.

EXIT STATUS
  0  all were shown
  1  at least one was not found`

// NewInspectCommand returns the verb inspect.
func NewInspectCommand(dockerCLI command.Cli) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "inspect [OPTIONS] SESSION|CONTAINER [SESSION|CONTAINER...]",
		Short:             "Show details of sessions",
		Long:              inspectLong,
		Example:           "  docker hostexec inspect --format '{{.State}}' web",
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: sessions.Complete,
		RunE: cli.Verb(cli.With(sessions.OpenStore, func(cmd *cobra.Command, store *state.Store, args []string) error {
			get := func(ref string) (any, []byte, error) {
				s, err := sessions.Inspect(cmd.Context(), dockerCLI, store, ref)
				if format != "" && format != formatter.JSONFormatKey {
					s = printableSession(s)
				}
				return s, nil, err
			}
			if err := inspect.Inspect(names.ASCIIWriter(dockerCLI.Out()), args, format, get); err != nil {
				return cli.Hint(err, "docker hostexec status -a")
			}
			return nil
		})),
	}
	cmd.Flags().StringVarP(&format, "format", "f", "", "Format output: `json|TEMPLATE`")
	cli.ExplainFields(cmd, cli.FieldsOf(sessions.Session{}))
	return cmd
}

// printableSession returns s with printable texts for templates, which unlike JSON do not escape them.
func printableSession(s sessions.Session) sessions.Session {
	s.ContainerName, s.Image = names.Printable(s.ContainerName), names.Printable(s.Image)
	if s.Watcher == nil {
		return s
	}
	w := *s.Watcher
	w.Running, w.Shells = slices.Clone(w.Running), slices.Clone(w.Shells)
	for i := range w.Running {
		w.Running[i].Args, w.Running[i].Dir = names.PrintableArgs(w.Running[i].Args), names.Printable(w.Running[i].Dir)
	}
	for i := range w.Shells {
		w.Shells[i].Dir, w.Shells[i].In = names.Printable(w.Shells[i].Dir), names.Printable(w.Shells[i].In)
	}
	w.CarrierWhy = names.Printable(w.CarrierWhy)
	s.Watcher = &w
	return s
}
