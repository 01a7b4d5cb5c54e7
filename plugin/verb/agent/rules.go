// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/docs"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

const agentRulesLong = `Print what an agent in a container should know, in Markdown

The text explains when and how to call commands of the host, what happens when a person has to
approve, and what each exit code means. Append it to your agent's rules file, such as CLAUDE.md
or AGENTS.md.

EXIT STATUS
  0  the text was printed
  1  the command line is wrong`

// NewRulesCommand returns the verb agent-rules.
func NewRulesCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "agent-rules",
		Short:             "Print what an agent in a container should know",
		Long:              agentRulesLong,
		Example:           "  docker hostexec agent-rules >> CLAUDE.md",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(*cobra.Command, []string) error {
			_, err := io.WriteString(dockerCLI.Out(), docs.Agents)
			return err
		}),
	}
}
