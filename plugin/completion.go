// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

const completionLong = `Print a completion script for docker-hostexec, the plugin when it is called without docker

docker asks its plugins itself: docker completion prints the script that completes docker hostexec.

EXIT STATUS
  0  the script was printed
  1  there is none for this shell`

// completionScripts write the scripts, by shell.
var completionScripts = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	"zsh":        (*cobra.Command).GenZshCompletion,
}

// newCompletionCommand returns a hidden verb, because most users complete the command line of docker.
func newCompletionCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "completion SHELL",
		Short:             "Print a completion script for docker-hostexec",
		Long:              completionLong,
		Example:           "  docker-hostexec completion bash >/etc/bash_completion.d/docker-hostexec",
		Hidden:            true,
		Args:              dockercli.ExactArgs(1),
		ValidArgsFunction: fixed("bash", "fish", "powershell", "zsh"),
		RunE: cli.Verb(func(_ *cobra.Command, args []string) error {
			write := completionScripts[args[0]]
			if write == nil {
				return fmt.Errorf("no completion script for the shell %s: bash, fish, powershell and zsh have one", names.Quoted(args[0]))
			}
			// The scripts depend on nothing but this name: they ask the program that they complete.
			return write(&cobra.Command{Use: "docker-hostexec"}, dockerCLI.Out())
		}),
	}
}
