// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const policyCheckLong = `Find errors in the configuration of the current directory

check reports
  - files and values that cannot be read
  - rules that fail their own tests, or never decide
  - patterns that match more than they seem to
  - rules that allow paths outside of the workspace without anywhere: true
  - rules that allow a command but state no effects, and commands that no rule can make safe
  - programs that other users could replace
  - settings of the agent section that docker hostexec agent would refuse
  - entries of PATH, variables, and values of the configuration, if they name files that a
    container can write

Warnings do not count as errors.

EXIT STATUS
  0  there are no errors
  1  there are errors`

func newPolicyCheckCommand(dockerCLI command.Cli, checkAgent func(*state.Store, config.Agent) []policy.Problem) *cobra.Command {
	return &cobra.Command{
		Use:               "check",
		Short:             "Find errors in the configuration",
		Long:              policyCheckLong,
		Example:           "  docker hostexec policy check",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(*cobra.Command, []string) error {
			store, src, err := currentSource()
			if err != nil {
				return err
			}
			wrong := writeProblems(names.ASCIIWriter(dockerCLI.Out()), checkHere(store, src, checkAgent))
			switch wrong {
			case 0:
				cli.Say(dockerCLI.Err(), "%s", noProblems(config.Load(src).ExistingFiles()))
				return nil
			case 1:
				return fmt.Errorf("1 error")
			}
			return fmt.Errorf("%d errors", wrong)
		}),
	}
}

// noProblems returns the message that the files of a configuration have no problems.
func noProblems(files []string) string {
	if len(files) == 0 {
		return "no errors: there is no configuration, so containers can call only the commands of --proxy"
	}
	for i, f := range files {
		files[i] = names.Escaped(f)
	}
	return "no errors in " + strings.Join(files, ", ")
}

// writeProblems prints the problems, and returns the number of errors among them.
func writeProblems(w io.Writer, all []policy.Problem) (wrong int) {
	for _, p := range all {
		kind := "warning: "
		if p.Fatal {
			kind, wrong = "", wrong+1
		}
		where := p.Position
		p.Position = ""
		fmt.Fprintln(w, names.Escaped(located(where, kind+p.String())))
	}
	return wrong
}

// located returns text after file:line, in the form of compilers and editors.
func located(where, text string) string {
	if where == "" {
		return text
	}
	return where + ": " + text
}

// checkHere returns the findings of config.Check, of the agent section, and of the environment.
func checkHere(store *state.Store, src config.Source, checkAgent func(*state.Store, config.Agent) []policy.Problem) []policy.Problem {
	writable, err := launch.WritableCode(store, src)
	if err != nil {
		writable = []policy.Problem{{Text: "look at what containers can write: " + err.Error()}}
	}
	return slices.Concat(config.Check(src), checkAgent(store, config.Load(src).Agent), writable)
}
