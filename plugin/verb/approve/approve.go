// SPDX-License-Identifier: Apache-2.0

// Package approve has the verbs that answer questions: approve, deny, pending and ui.
package approve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const approveLong = `Approve requests that docker hostexec pending lists

An approval holds for the callers that wait now. Later callers ask again, unless --for, --times,
--always or --while-unchanged makes the approval a grant. A grant holds for the same arguments,
in the same directory and session. It ends at the latest when the container is removed: stop and
resume keep it.

With --while-unchanged, a grant holds only while the files that decide what runs are unchanged.
These are a script, the makefile, package.json, compose files, git's configuration, or the
inputs of a rule. After a change you are asked again, and see the changes.

With --vary, one argument of a grant may differ: N=path (a file or directory that exists below
the mount of the caller's directory), N=number, or N=WORD,WORD. Argument 1 is the first after
the program. N alone takes the form of the argument that is shown. Options never vary, nor do
subcommands of tools that hostexec knows. No argument varies if the command may run code of the
container on the host.

REQUEST is an id, or at least its first 8 characters. If the same request waits in other
containers, a hint has their ids.

EXIT STATUS
  0  all requests were approved
  1  at least one request was not approved`

const approveExample = `  docker hostexec pending
  docker hostexec approve 3f1c9a0b
  docker hostexec approve --for 15m 3f1c9a0b
  docker hostexec approve --for 1h --vary 2=path 3f1c9a0b`

// NewApproveCommand returns the verb approve.
func NewApproveCommand(dockerCLI command.Cli) *cobra.Command {
	var terms approval.Terms
	cmd := &cobra.Command{
		Use:               "approve [OPTIONS] REQUEST [REQUEST...]",
		Short:             "Approve requests that wait",
		Long:              approveLong,
		Example:           approveExample,
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: completeRequests,
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			if err := checkTerms(cmd.Flags(), terms); err != nil {
				return err
			}
			store, err := state.Open()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return answering{cmd, dockerCLI, "approved", func(c *control.Client, q control.Question) error {
				if terms.Vary != "" {
					line, err := grantVarying(ctx, c, q, terms)
					if err == nil {
						cli.Say(dockerCLI.Err(), "this runs without a question: %s", line)
					}
					return err
				}
				return c.Approve(ctx, q, terms)
			}}.settle(ctx, store, args)
		}),
	}
	flags := cmd.Flags()
	flags.DurationVar(&terms.For, "for", 0, "Allow the same request without a question for a `time`, such as 15m")
	flags.IntVar(&terms.Times, "times", 0, "Allow the same request this number of `times`; waiting calls count")
	flags.BoolVar(&terms.Always, "always", false, "Allow the same request without a question for this session")
	flags.StringVar(&terms.Vary, "vary", "", "With --for, --times or --always: let `argument` N of the request vary")
	flags.BoolVar(&terms.Unchanged, "while-unchanged", false, "Allow it only while the files that decide what runs are unchanged; alone, for this session")
	return cmd
}

// checkTerms refuses invalid terms, and more than one of them.
func checkTerms(flags *pflag.FlagSet, t approval.Terms) error {
	given := 0
	for _, name := range []string{"for", "times", "always"} {
		if flags.Changed(name) {
			given++
		}
	}
	switch {
	case given > 1:
		return errors.New("--for, --times and --always exclude each other: give one of them")
	case flags.Changed("vary") && t.Unchanged:
		return errors.New("--vary and --while-unchanged exclude each other: give one of them")
	case flags.Changed("vary") && given == 0:
		return errors.New("--vary needs --for, --times or --always: give one of them")
	case flags.Changed("for") && t.For <= 0:
		return fmt.Errorf("--for %s: want a time such as 15m", t.For)
	case flags.Changed("times") && t.Times <= 0:
		return fmt.Errorf("--times %d: want 1 or more", t.Times)
	case flags.Changed("vary"):
		if _, err := approval.ParseVary(t.Vary); err != nil {
			return fmt.Errorf("--vary: %w", err)
		}
	}
	return nil
}

// completeRequests completes the waiting requests that are not given yet.
func completeRequests(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	store, err := state.OpenReadOnly()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	all, _ := control.AllPending(ctx, store) // of the watchers that answer
	var ids []string
	for _, q := range all {
		if slices.Contains(given, q.ID) {
			continue
		}
		ids = append(ids, q.ID+"\t"+commandLine(q))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
