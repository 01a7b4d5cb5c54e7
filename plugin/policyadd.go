// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

const policyAddLong = `Add a rule for one command with exactly these arguments

It goes to config.yaml, or with --project to the file of this directory's project, whose
comments stay, and holds from the next request on. Its name is printed, for policy rm.
Rules that leave a choice are written by hand: docker hostexec policy init shows some.

A command such as make runs what stands in files, which the container may have written. To
have that unasked, --accept-code says that you know.

EXIT STATUS
  0  the rule is there
  1  it could not be added`

func newPolicyAddCommand(dockerCLI command.Cli) *cobra.Command {
	var ask, deny, code, project bool
	cmd := &cobra.Command{
		Use:               "add [OPTIONS] [--] COMMAND [ARG...]",
		Short:             "Allow a command with exactly these arguments",
		Long:              policyAddLong,
		Example:           "  docker hostexec policy add -- gh pr list\n  docker hostexec policy add --ask --project -- make deploy",
		Args:              cli.RequiresMinArgs(1),
		ValidArgsFunction: completeCommand,
		RunE: verb(func(_ *cobra.Command, args []string) error {
			do := policy.Allow
			switch {
			case ask && deny:
				return errors.New("--ask and --deny: only one of them")
			case ask:
				do = policy.Ask
			case deny:
				do = policy.Deny
			}
			return addRule(dockerCLI, args, do, code, project)
		}),
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.BoolVar(&ask, "ask", false, "Ask each time")
	flags.BoolVar(&deny, "deny", false, "Refuse it, whatever else allows it")
	flags.BoolVar(&code, "accept-code", false, "Allow it although it runs code that the container may have written")
	flags.BoolVar(&project, "project", false, "For this directory's project only")
	return cmd
}

func addRule(dockerCLI command.Cli, args []string, do policy.Action, code, project bool) error {
	_, src, err := here()
	if err != nil {
		return err
	}
	file, err := target(src, project)
	if err != nil {
		return err
	}
	p := config.Load(src).Policy(nil)
	had := len(p.Rules[args[0]].Rules)
	v, err := foresee(p, args, do, code)
	if err != nil {
		return err
	}
	title, err := config.Add(file, args, do, code)
	if err != nil {
		return err
	}
	fmt.Fprintln(dockerCLI.Out(), title)
	if v.Action != do {
		say(dockerCLI.Err(), "warning: another rule is stricter: %s", printable(outcome(v)))
	}
	if had == 0 && do != policy.Deny {
		say(dockerCLI.Err(), "%s has rules now: what none of them matches is denied, unless a session has --proxy %s=allow or =ask", args[0], args[0])
	}
	return nil
}

// foresee is what becomes of args once the rule is there. It refuses one that would not do
// as it says.
func foresee(p *policy.Policy, args []string, do policy.Action, code bool) (policy.Verdict, error) {
	if p.Broken != "" {
		return policy.Verdict{}, hint(errors.New("the configuration is broken: "+printable(p.Broken)), "docker hostexec policy check")
	}
	r := policy.Rule{ID: "new", Do: do, Accept: code}
	for _, a := range args[1:] {
		r.Argv = append(r.Argv, policy.Element{Kind: policy.Word, Words: []string{a}})
	}
	if err := r.Compile(); err != nil {
		return policy.Verdict{}, err
	}
	set := p.Rules[args[0]]
	set.Rules = append(slices.Clone(set.Rules), r)
	p.Rules[args[0]] = set
	v := p.Decide(policy.Request{Args: args, GitDir: true})
	if do == policy.Allow && v.Rule == r.Title(args[0]) && v.Action == policy.Ask {
		return v, hint(fmt.Errorf("%s runs code that the container may have written, so this would ask all the same", args[0]),
			"--ask to have it so, or --accept-code to allow it")
	}
	return v, nil
}
