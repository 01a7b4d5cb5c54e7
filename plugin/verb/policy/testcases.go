// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

const policyTestLong = `Run the tests of rules: arguments that they must match (test.yes) or must not (test.no)

A rule that fails one of its tests breaks the configuration: then all requests are denied.

EXIT STATUS
  0  all pass
  1  at least one fails, or the configuration cannot be read`

func newPolicyTestCommand(dockerCLI command.Cli) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:               "test [OPTIONS]",
		Short:             "Run the tests of rules",
		Long:              policyTestLong,
		Example:           "  docker hostexec policy test -v",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(*cobra.Command, []string) error {
			_, c, err := loadCurrent(dockerCLI)
			if err != nil {
				return err
			}
			all := c.Policy(nil).RunTests()
			failed := 0
			for _, t := range all {
				word := map[bool]string{true: "matches", false: "does not match"}[t.Want]
				switch {
				case t.Why != "":
					failed++
					fmt.Fprintln(dockerCLI.Out(), names.Escaped(located(t.Position, "FAIL "+t.Rule+": "+policy.CommandLine(t.Args)+": "+t.Why)))
				case verbose:
					fmt.Fprintln(dockerCLI.Out(), names.Escaped("ok   "+t.Rule+": "+word+" "+policy.CommandLine(t.Args)))
				}
			}
			if failed > 0 {
				return fmt.Errorf("%d of %d tests fail", failed, len(all))
			}
			fmt.Fprintf(dockerCLI.Out(), "%d tests pass\n", len(all))
			return configError(c)
		}),
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "Also show tests that pass")
	return cmd
}
