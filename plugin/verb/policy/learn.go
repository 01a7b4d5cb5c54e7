// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
)

const policyLearnLong = `Propose rules that allow what you have approved

learn reads your approvals in the audit log, for this directory's project. It shows the rules
as a change of the project's file, and then the past requests that they would decide
differently. --write writes the change. With --all-projects, it reads the approvals of all
projects, and changes config.yaml. With COMMANDs, it proposes rules for these only.

A rule matches exactly the arguments that you approved. If you approved several values of one
argument, it matches each of them. If you approved more than 8 values, it may match all numbers
with as many digits. For a command in a sandbox or a container, it may match all files below
their directory.

Not proposed are
  - calls that you have denied in any project
  - interpreters, and commands on the host that run code of the container
  - commands on the host that read or change files (cat, rm), because the container can put links there
  - commands on the host that are not known to be harmless, unless --effects says what they do
  - calls approved with --while-unchanged
  - calls that a grant with a varying path allowed, unless they run in a sandbox or container
  - calls whose arguments are cut or redacted in the log, or match audit.redact
  - calls whose questions were about more than arguments: variables, stdin, files, previews, shells

A rule holds in all directories of the project's containers, also after their files have
changed. It turns ask into allow, and never changes a denial. policy ls lists the rules, and
policy rm removes them. If audit verify finds faults, no rule is proposed.

EXIT STATUS
  0  the rules were shown or, with --write, written; or there are none
  1  the log is not as it was written, the configuration is broken, or you did not confirm`

const policyLearnExample = `  docker hostexec policy learn --since 7d
  docker hostexec policy learn --since 7d --write
  docker hostexec policy learn --effects read,network gh`

// maxLearnedRules limits the rules of one proposal, because a person reads them. They are those with the most
// approvals.
const maxLearnedRules = 100

type learnOptions struct {
	since             string
	effects           []string
	all, write, force bool
	json              bool
	commands          map[string]bool
}

func newPolicyLearnCommand(dockerCLI command.Cli) *cobra.Command {
	o := learnOptions{commands: map[string]bool{}}
	cmd := &cobra.Command{
		Use:               "learn [OPTIONS] [COMMAND...]",
		Short:             "Propose rules that allow what you have approved",
		Long:              policyLearnLong,
		Example:           policyLearnExample,
		ValidArgsFunction: cli.CompleteFirst(launch.CompleteCommand),
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				o.commands[name] = true
			}
			if err := config.CheckEffects(o.effects); err != nil {
				return fmt.Errorf("--effects: %w", err)
			}
			if o.json && o.write && !o.force {
				return errors.New("--json with --write cannot ask: add --force")
			}
			return learn(cmd.Context(), dockerCLI, o)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.since, "since", "", "Only learn from approvals since a `time` (15m, 7d, 2026-01-31, 2026-01-31T12:00:00Z)")
	flags.StringSliceVar(&o.effects, "effects", nil, "Effects of commands that are not known to be harmless, a `LIST` of read, write, network")
	_ = cmd.RegisterFlagCompletionFunc("effects", cobra.FixedCompletions([]string{"read", "write", "network"}, cobra.ShellCompDirectiveNoFileComp))
	flags.BoolVar(&o.all, "all-projects", false, "Learn from approvals in all projects, for all projects")
	flags.BoolVar(&o.write, "write", false, "Write the rules, after a confirmation")
	flags.BoolVarP(&o.force, "force", "f", false, "With --write: do not ask")
	flags.BoolVar(&o.json, "json", false, "Print one JSON object")
	return cmd
}

// learnResult is what was learned.
type learnResult struct {
	change   config.Change
	rules    []policy.Learned // those of change, and no more than the limit
	more     int              // rules beyond the limit
	skipped  []skippedCalls
	replayed *redecision
}

func learn(ctx context.Context, dockerCLI command.Cli, o learnOptions) error {
	l, err := newLearnResult(o)
	if err != nil {
		return err
	}
	if o.json {
		return l.writeJSON(dockerCLI.Out(), o)
	}
	if err := l.show(names.ASCIIWriter(dockerCLI.Out()), dockerCLI.Err()); err != nil || len(l.change.Added) == 0 {
		return err
	}
	if !o.write {
		cli.Say(dockerCLI.Err(), "hint: --write writes them")
		return nil
	}
	if !o.force {
		yes, err := cli.Confirm(ctx, dockerCLI, fmt.Sprintf("This allows the above without a question, by %s in %s.\nAre you sure you want to continue?",
			cli.Count(len(l.change.Added), "rule"), names.Escaped(l.change.File)))
		if err != nil || !yes {
			return errors.Join(err, errors.New("not written"))
		}
	}
	return l.write(dockerCLI)
}

// write writes the change, and prints the names of the rules.
func (l *learnResult) write(dockerCLI command.Cli) error {
	if err := l.change.Write(); err != nil {
		return err
	}
	for _, r := range l.change.Added {
		fmt.Fprintln(dockerCLI.Out(), r.Rule.Title(r.Command))
	}
	return nil
}

// newLearnResult reads the log, makes rules of it, and decides its requests again with them.
func newLearnResult(o learnOptions) (*learnResult, error) {
	store, src, err := currentSource()
	if err != nil {
		return nil, err
	}
	from, err := cli.SinceTime(o.since, time.Now())
	if err != nil {
		return nil, err
	}
	file, err := targetFile(src, !o.all)
	if err != nil {
		return nil, err
	}
	if err := configError(config.Load(src)); err != nil {
		return nil, err
	}
	a := newApprovals(newPastLog(store, src))
	a.from, a.project, a.commands = from, !o.all, o.commands
	if err := a.read(); err != nil {
		return nil, err
	}
	l := &learnResult{}
	l.rules, l.more = mostApproved(a.learn(o.effects))
	l.skipped = a.skippedCalls()
	if l.change, err = config.AddLearned(file, l.rules); err != nil {
		return nil, err
	}
	src.Draft = l.change
	log := newPastLog(store, src)
	log.sessions = a.log.sessions // their --proxy flags
	for _, p := range log.sessions {
		p.policy = nil
	}
	if l.replayed, err = replay(log, from); err != nil {
		return nil, err
	}
	return l, log.broken
}
