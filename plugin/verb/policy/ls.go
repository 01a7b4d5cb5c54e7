// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/formatter"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const policyLsLong = `List the rules, patterns and proxied commands of the configuration, and all grants and denials

The configuration is that of the current directory. Its key proxies lists the proxied commands.

A grant is an approval that also holds for later calls: the same call, or with --vary one that
differs in one argument, runs without a question. A denial with --always holds until the
container is removed. Grants and denials of all sessions are listed.

RULE is the name in policy explain, the audit log and refusals. ACTION approved means: the rule
allows calls that would otherwise ask. MATCHES shows the arguments:

  word, /pattern/, [option]
  PATH        a path below a mount
  +(...)      arguments that the host inserts
  (anywhere)  patterns may match paths outside of the workspace
  (confined)  the command has to run in a sandbox or a container

EXIT STATUS
  0  the rules and grants were listed
  1  they could not be listed, or the configuration is broken`

func newPolicyLsCommand(dockerCLI command.Cli) *cobra.Command {
	var quiet, noTrunc bool
	var format string
	cmd := &cobra.Command{
		Use:               "ls [OPTIONS]",
		Aliases:           []string{"list"},
		Short:             "List rules, patterns and grants",
		Long:              policyLsLong,
		Example:           "  docker hostexec policy ls\n  docker hostexec policy ls --format '{{.Rule}} {{.Where}}'\n  docker hostexec policy ls --format '{{.Rule}} {{.Image}} {{.DockerHost}} {{.Keep}}'",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(cmd *cobra.Command, _ []string) error {
			src, c, err := loadCurrent(dockerCLI)
			if err != nil {
				return err
			}
			answers, aerr := answerRows(cmd.Context(), &state.Store{Home: src.Store}, noTrunc)
			switch {
			case quiet:
				format = "{{.Rule}}"
			case format == formatter.TableFormatKey:
				format = "table {{.Rule}}\t{{.Action}}\t{{.Runs}}\t{{.Matches}}\t{{.Where}}"
			}
			out := formatter.Context{Output: names.ASCIIWriter(dockerCLI.Out()), Format: formatter.Format(format), Trunc: !noTrunc}
			if err := writePolicy(out, slices.Concat(policyRows(c), answers)); err != nil {
				return err
			}
			return errors.Join(aerr, configError(c))
		}),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&quiet, "quiet", "q", false, "Only show the rules' names")
	flags.BoolVar(&noTrunc, "no-trunc", false, "Do not truncate output")
	cli.FormatFlag(cmd, &format, cli.FieldsOf(policyRow{}))
	return cmd
}

// policyRows returns a row for each rule, pattern and proxied command of c, in the order of evaluation.
func policyRows(c *config.Config) (rows []*policyRow) {
	p := c.Policy(nil)
	for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
		set := p.Rules[name]
		for _, r := range set.Rules {
			keep := r.Settings.Over(set.Settings.Over(p.Defaults)).Keep
			row := describedRow(r.Title(name), r.Do, r.Shape(), r.Position)
			row.runs(r.Do, set.Place, keep != nil && *keep)
			rows = append(rows, row)
		}
		for _, r := range set.Approved {
			row := describedRow(r.Title(name), r.Do, r.Shape(), r.Position)
			row.Action = "approved" // the rule that asks says how it runs
			rows = append(rows, row)
		}
	}
	for _, e := range p.Auto {
		matches := names.Escaped(e.Source)
		if e.Anywhere {
			matches += " (anywhere)"
		}
		rows = append(rows, describedRow("auto_approve", policy.Allow, matches, e.Position))
	}
	for _, e := range p.Manual {
		rows = append(rows, describedRow("manual_approve", policy.Ask, names.Escaped(e.Source), e.Position))
	}
	return append(rows, proxyRows(c)...)
}

// describedRow returns a row with its main columns.
func describedRow(rule string, do policy.Action, matches, where string) *policyRow {
	return &policyRow{Rule: names.Escaped(rule), Action: do.String(), Matches: matches, Where: names.Escaped(where), Runs: "-"}
}

// proxyRows returns a row for each command of the key proxies.
func proxyRows(c *config.Config) (rows []*policyRow) {
	commands, _ := launch.ConfiguredCommands(c) // an invalid one is shown as written
	p := c.Policy(config.PolicyCommands(commands))
	for _, e := range c.Proxies {
		cmd, err := config.ParseProxy(e.Value)
		if err != nil {
			rows = append(rows, describedRow("--proxy", policy.Allow, names.Escaped(e.Value), e.Position))
			continue
		}
		do, _ := policy.ParseAction(cmd.Action)
		settings := p.Defaults
		if set := p.Rules[cmd.Name]; len(set.Rules) == 0 { // otherwise its rules are shown
			settings = set.Settings.Over(settings)
		}
		keep := settings.Keep
		row := describedRow("--proxy", do, names.Escaped(e.Value), e.Position)
		row.runs(do, p.Place(cmd.Name), cmd.Keep || keep != nil && *keep)
		rows = append(rows, row)
	}
	return rows
}

// writePolicy prints rows. It may truncate their texts.
func writePolicy(out formatter.Context, rows []*policyRow) error {
	for _, r := range rows {
		if out.Trunc {
			place, _, _ := strings.Cut(r.Runs, ",")
			r.Runs, r.Matches = cli.Ellipsis(place, 30), cli.Ellipsis(r.Matches, 60)
			if r.Keep {
				r.Runs += ",keep"
			}
		}
	}
	return cli.WriteRows(out, rows)
}

// policyRow is one rule for templates.
type policyRow struct {
	cli.Row
	Rule, Action, Matches, Where string
	Runs                         string // host, sandbox or container:IMAGE, with keep; "-" for none, or if it depends on the command
	Image                        string // of the container, or "" for the host
	DockerHost                   string `header:"DOCKER HOST"` // the engine that creates the container, or "" for the session's
	Keep                         bool   // jobs may outlive their session's container
}

func (r policyRow) MarshalJSON() ([]byte, error) { return cli.MarshalRow(r) }

// runs notes where the command runs, unless do denies it.
func (r *policyRow) runs(do policy.Action, in policy.Place, keep bool) {
	if do == policy.Deny {
		return
	}
	r.Runs, r.Image, r.DockerHost, r.Keep = names.Escaped(in.String()), names.Escaped(in.Image), names.Escaped(in.DockerHost), keep
	if keep {
		r.Runs += ",keep"
	}
}
