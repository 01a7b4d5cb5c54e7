// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
)

const helpLong = `Show the help of docker hostexec, or of one of its verbs

VERB --help shows the same.

EXIT STATUS
  0  it was shown
  1  there is no such verb`

func newHelpCommand(command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:     "help [VERB...]",
		Short:   "Show the help of a verb",
		Long:    helpLong,
		Example: "  docker hostexec help policy add",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, rest, err := cmd.Parent().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return cli.VerbNames(about), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Parent().Find(args)
			if err != nil || len(rest) > 0 {
				return cli.UnknownVerb(about, rest)
			}
			return about.Help()
		},
	}
}
