// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
)

const policyAddLong = `Add a rule for one command with exactly these arguments

The rule is added to config.yaml, for all projects. With --project it is added to the file of
this directory's project. Comments in the file stay. The rule holds from the next request on.
Its name is printed, for policy rm. To match more than one list of arguments, write the rule by
hand: docker hostexec policy init shows examples.

The first rule of a command narrows plain --proxy COMMAND: calls that no rule matches are then
denied. So on a terminal, except with --deny, you are asked whether the first rule is for
this project only.

A command such as make runs code from files, which the container may have written. For such a
command give --ask, or --accept-code to allow it without a question. For a command that is not
known to be harmless, give one of these, or --effects: read, write, network.

EXIT STATUS
  0  the rule was added, or exists already
  1  it could not be added`

func newPolicyAddCommand(dockerCLI command.Cli) *cobra.Command {
	var ask, deny, code, project bool
	var effects []string
	cmd := &cobra.Command{
		Use:               "add [OPTIONS] [--] COMMAND [ARG...]",
		Short:             "Allow a command with exactly these arguments",
		Long:              policyAddLong,
		Example:           "  docker hostexec policy add --project --ask -- make deploy\n  docker hostexec policy add --effects read,network -- gh api rate_limit",
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: launch.CompleteCommand,
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			r := policy.Rule{ID: "new", Do: policy.Allow, Effects: effects, Accept: code}
			switch {
			case ask && deny:
				return errors.New("--ask and --deny: only one of them")
			case ask:
				r.Do = policy.Ask
			case deny:
				r.Do = policy.Deny
			}
			if err := config.CheckEffects(effects); err != nil {
				return fmt.Errorf("--effects: %w", err)
			}
			return addRule(cmd.Context(), dockerCLI, args, r, project)
		}),
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.BoolVar(&ask, "ask", false, "Add a rule that asks each time")
	flags.BoolVar(&deny, "deny", false, "Add a rule that denies, whatever other rules allow")
	flags.BoolVar(&code, "accept-code", false, "Allow the command although it may run code of the container")
	flags.StringSliceVar(&effects, "effects", nil, "Effects of the command, a `LIST` of read, write, network, code")
	_ = cmd.RegisterFlagCompletionFunc("effects", cobra.FixedCompletions([]string{"read", "write", "network", "code"}, cobra.ShellCompDirectiveNoFileComp))
	flags.BoolVar(&project, "project", false, "Add the rule for this directory's project only")
	return cmd
}

func addRule(ctx context.Context, dockerCLI command.Cli, args []string, r policy.Rule, project bool) error {
	_, src, err := currentSource()
	if err != nil {
		return err
	}
	p := config.Load(src).Policy([]policy.Command{{Name: args[0], Action: policy.Allow}}) // as --proxy would add it, in order to find its program
	narrows := len(p.Rules[args[0]].Rules) == 0 && r.Do != policy.Deny
	v, err := newVerdict(p, args, r)
	if err != nil {
		return err
	}
	if narrows && !project {
		if project, err = offerProject(ctx, dockerCLI, src, args[0]); err != nil {
			return err
		}
	}
	file, err := targetFile(src, project)
	if err != nil {
		return err
	}
	title, err := config.Add(file, args, r)
	if errors.Is(err, config.ErrRuleDiffers) {
		return cli.Hint(fmt.Errorf("%s: %w", policy.CommandLine([]string{title}), err), removeHint(p, args[0], title, file))
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(dockerCLI.Out(), title)
	if v.Action != r.Do {
		cli.Say(dockerCLI.Err(), "warning: another rule is stricter: %s", names.Escaped(outcome(v)))
	}
	if narrows {
		sayNarrowed(dockerCLI, args[0], title, project)
	}
	return nil
}

// removeHint returns how to remove a rule from file. policy rm removes it from the file that has effect in p: a project's
// rule replaces that of config.yaml.
func removeHint(p *policy.Policy, command, title, file string) string {
	for _, r := range p.Rules[command].Rules {
		if r.Title(command) == title && !strings.HasPrefix(r.Position, file+":") {
			return "edit " + names.Escaped(file)
		}
	}
	return "docker hostexec policy rm " + policy.CommandLine([]string{title})
}

// offerProject asks on a terminal whether the first rule of a command applies to this project only.
func offerProject(ctx context.Context, dockerCLI command.Cli, src config.Source, name string) (bool, error) {
	if src.ProjectFile() == "" || !dockerCLI.In().IsTerminal() || !dockerCLI.Out().IsTerminal() {
		return false, nil
	}
	all, err := cli.Confirm(ctx, dockerCLI,
		fmt.Sprintf("%s has no rules yet. With this one, plain --proxy %s allows nothing else.\nIs it for all projects, not only for %s?", name, name, names.Escaped(src.Project)))
	return !all, err
}

// sayNarrowed warns that the first rule of a command denies everything that it does not match.
func sayNarrowed(dockerCLI command.Cli, name, title string, project bool) {
	where := "in this project"
	if !project {
		where = "in all projects"
	}
	cli.Say(dockerCLI.Err(), "%s has rules now: %s, what none of them matches is denied, unless a session has --proxy %s=allow or =ask", name, where, name)
	cli.Say(dockerCLI.Err(), "in running sessions, and where a container or agent has its own %s, call it as: hostexec %s", name, name)
	if !project {
		cli.Say(dockerCLI.Err(), "hint: for this project only: docker hostexec policy rm %s, then add --project", title)
	}
}

// newVerdict returns the verdict for args with the new rule. It refuses a rule that would not have its effect.
func newVerdict(p *policy.Policy, args []string, r policy.Rule) (policy.Verdict, error) {
	if p.Broken != "" {
		return policy.Verdict{}, cli.Hint(errors.New("the configuration is broken: "+names.Escaped(p.Broken)), "docker hostexec policy check")
	}
	for _, a := range args[1:] {
		r.Argv = append(r.Argv, policy.Element{Kind: policy.KindWord, Words: []string{a}})
	}
	if err := r.Compile(); err != nil {
		return policy.Verdict{}, err
	}
	set := p.Rules[args[0]]
	with := func(r policy.Rule) policy.Verdict {
		with := set
		with.Rules = append(slices.Clone(set.Rules), r)
		p.Rules[args[0]] = with
		return p.Decide(policy.Request{Args: args, GitDirReadOnly: true})
	}
	v := with(r)
	if r.Do != policy.Allow || v.Rule != r.Title(args[0]) || v.Action != policy.Ask {
		return v, nil
	}
	stated := r
	stated.Effects = []string{"read"}
	if len(r.Effects) == 0 && with(stated).Action == policy.Allow {
		return v, cli.Hint(fmt.Errorf("%s is not known to be harmless, so this rule would ask", args[0]),
			"--effects read if it only reads (or write, network), --ask if it should ask")
	}
	return v, cli.Hint(fmt.Errorf("%s runs code that the container may have written, so this rule would ask", args[0]),
		"--ask if it should ask, --accept-code to allow it")
}
