// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/docs"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
)

const agentRulesLong = `Print what an agent in a container should know, in Markdown

With a session or its container, the text lists the session's commands: which calls run, wait
for a person, or are refused. It also explains how to ask. In the container, hostexec ls
--agents prints the same text, and /run/hostexec/AGENTS.md has it, except in attached containers
and on engines elsewhere. Calls, docker hostexec policy and docker hostexec trust renew that
file.

Without an argument, a general text is printed that holds for every session, for a file such as
CLAUDE.md.

EXIT STATUS
  0  the text was printed
  1  there is no such session, or the command line is wrong`

// NewRulesCommand returns the verb agent-rules.
func NewRulesCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "agent-rules [SESSION|CONTAINER]",
		Short:             "Print what an agent in a container should know",
		Long:              agentRulesLong,
		Example:           "  docker hostexec agent-rules >> CLAUDE.md\n  docker hostexec agent-rules web",
		Args:              dockercli.RequiresMaxArgs(1),
		ValidArgsFunction: cli.CompleteFirst(sessions.Complete),
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) (err error) {
			text := docs.Agents
			if len(args) > 0 {
				text, err = rulesOf(cmd.Context(), dockerCLI, args[0])
			}
			if err == nil {
				_, err = io.WriteString(dockerCLI.Out(), text)
			}
			return err
		}),
	}
}

// rulesOf returns the rules of one session.
func rulesOf(ctx context.Context, dockerCLI command.Cli, ref string) (string, error) {
	store, err := sessions.OpenStore()
	if err != nil {
		return "", err
	}
	rec, err := sessions.Find(ctx, dockerCLI, store, ref)
	if err != nil {
		return "", cli.Hint(err, "docker hostexec status")
	}
	text, err := control.Query(ctx, store.Dir(rec.ID), (*control.Client).AgentRules)
	switch {
	case errors.Is(err, control.ErrNoWatcher):
		return "", cli.Hint(fmt.Errorf("session %s: %w", rec.ID, err), "docker hostexec resume "+rec.ID)
	case err != nil:
		return "", fmt.Errorf("session %s: %w", rec.ID, err)
	case text == "":
		return "", fmt.Errorf("session %s has no container yet", rec.ID)
	}
	return text, nil
}
