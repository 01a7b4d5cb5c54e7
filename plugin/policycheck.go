// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

const policyCheckLong = `Say what is wrong with the configuration of the current directory

That is what cannot be read, rules that fail their own tests or never decide, patterns that
match more than they seem to, programs that others could replace, and commands that no
rule about arguments makes safe. A warning is worth a thought; anything else is wrong.

EXIT STATUS
  0  nothing is wrong
  1  something is`

func newPolicyCheckCommand(cli command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:               "check",
		Short:             "Say what is wrong with the configuration",
		Long:              policyCheckLong,
		Example:           "  docker hostexec policy check",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: verb(func(*cobra.Command, []string) error {
			_, src, err := here()
			if err != nil {
				return err
			}
			wrong := writeProblems(cli.Out(), config.Check(src))
			switch wrong {
			case 0:
				return nil
			case 1:
				return fmt.Errorf("1 thing is wrong")
			}
			return fmt.Errorf("%d things are wrong", wrong)
		}),
	}
}

// writeProblems shows what a check found, and returns how much of it is wrong.
func writeProblems(w io.Writer, all []policy.Problem) (wrong int) {
	for _, p := range all {
		kind := "warning: "
		if p.Fatal {
			kind, wrong = "", wrong+1
		}
		fmt.Fprintln(w, printable(located(p.Where, kind+ruled(p.Rule, p.Text))))
	}
	return wrong
}

// located is text behind file:line, as compilers and editors have it.
func located(where, text string) string {
	if where == "" {
		return text
	}
	return where + ": " + text
}

func ruled(rule, text string) string {
	if rule == "" {
		return text
	}
	return rule + ": " + text
}
