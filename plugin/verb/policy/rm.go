// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const policyRmLong = `Remove rules and revoke grants and denials, named as docker hostexec policy ls shows them

rm searches for a rule in the file of this directory's project, and then in config.yaml.

EXIT STATUS
  0  all were removed
  1  at least one was not found, or could not be removed`

func newPolicyRmCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "rm RULE [RULE...]",
		Aliases:           []string{"remove"},
		Short:             "Remove rules and revoke grants",
		Long:              policyRmLong,
		Example:           "  docker hostexec policy rm git/push\n  docker hostexec policy rm grant/9f3c2a71",
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: completeRules,
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			store, src, err := currentSource()
			if err != nil {
				return err
			}
			var errs []error
			for _, title := range args {
				title, err := removeNamed(cmd.Context(), store, src, title)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintln(dockerCLI.Out(), names.Escaped(title))
			}
			return errors.Join(errs...)
		}),
	}
}

// removeNamed removes a rule or revokes a grant or denial, and returns its full name.
func removeNamed(ctx context.Context, store *state.Store, src config.Source, title string) (string, error) {
	for _, e := range answerKinds {
		if ref, ok := strings.CutPrefix(title, prefix(e)); ok {
			id, err := revokeAnswer(ctx, store, e, ref)
			return prefix(e) + id, err
		}
	}
	return title, removeRule(src, title)
}

func removeRule(src config.Source, title string) error {
	if file := src.ProjectFile(); file != "" {
		if err := config.Remove(file, title); !errors.Is(err, config.ErrNoRule) {
			return err
		}
	}
	return config.Remove(src.GlobalFile(), title)
}

// completeRules completes the existing rules.
func completeRules(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	store, err := state.OpenReadOnly()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	src, err := sourceIn(store)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var titles []string
	p := config.Load(src).Policy(nil)
	for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
		for _, r := range slices.Concat(p.Rules[name].Rules, p.Rules[name].Approved) {
			titles = append(titles, r.Title(name)+"\t"+r.Shape())
		}
	}
	return titles, cobra.ShellCompDirectiveNoFileComp
}
