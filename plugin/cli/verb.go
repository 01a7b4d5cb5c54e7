// SPDX-License-Identifier: Apache-2.0

// Package cli has the common code of all verbs of docker hostexec: errors and exit codes, output formats,
// filters, signals, docker's own flags, and completion.
//
// Messages go to stderr after "hostexec: ", in lower case and with the next step; stdout has the answers. Only Report
// turns errors into exit codes. The package does not depend on sessions and configuration: callers pass the functions
// for shell completion of their names.
package cli

import (
	"fmt"

	dockercli "github.com/docker/cli/cli"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/flags"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// NoArgs refuses arguments, so that a mistyped verb is an error: cobra would pass it to RunE as an argument.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.HasSubCommands() {
		return UnknownVerb(cmd, args)
	}
	return dockercli.NoArgs(cmd, args)
}

// UnknownVerb returns the error for a word that is not a verb of cmd. It suggests the verb that may have been
// meant.
func UnknownVerb(cmd *cobra.Command, args []string) error {
	err := fmt.Errorf("unknown verb: %s", names.Escaped(args[0]))
	next := cmd.CommandPath() + " --help"
	if near := names.Near(args[0], VerbNames(cmd)); near != "" {
		next = cmd.CommandPath() + " " + near
	}
	return &Failure{Code: CodeVerb, Err: Hint(err, next)}
}

// FlagError returns docker's error for a wrong flag. It suggests the flag that may have been meant.
func FlagError(cmd *cobra.Command, err error) error {
	if near := flags.Near(cmd.Flags(), err); near != "" {
		err = fmt.Errorf("%w: did you mean %s?", err, near)
	}
	return dockercli.FlagErrorFunc(cmd, err)
}

// VerbNames returns the names of a command's visible verbs.
func VerbNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, append(c.Aliases, c.Name())...)
		}
	}
	return names
}

type runE = func(cmd *cobra.Command, args []string) error

// Verb returns a RunE that reports errors as Failures and ends on a signal.
func Verb(run runE) runE {
	handled := VerbWithSignals(run)
	return func(cmd *cobra.Command, args []string) error {
		defer EndOnSignal(cmd.Context())()
		return handled(cmd, args)
	}
}

// VerbWithSignals is Verb for a command that handles signals itself.
func VerbWithSignals(run runE) runE {
	return func(cmd *cobra.Command, args []string) error { return failure(CodeVerb, run(cmd, args)) }
}

// With returns run with what open returns.
func With[T any](open func() (T, error), run func(cmd *cobra.Command, opened T, args []string) error) runE {
	return func(cmd *cobra.Command, args []string) error {
		opened, err := open()
		if err != nil {
			return err
		}
		return run(cmd, opened, args)
	}
}

// FlagsAsRun makes an invalid flag end cmd with docker run's exit code, as cmd's other failures do.
func FlagsAsRun(cmd *cobra.Command) *cobra.Command {
	cmd.SetFlagErrorFunc(FlagError)
	return cmd
}

// ArgsAsRun is FlagsAsRun also for a wrong number of arguments, for which docker run itself exits with 1.
func ArgsAsRun(cmd *cobra.Command) *cobra.Command {
	args := cmd.Args
	cmd.Args = func(cmd *cobra.Command, words []string) error {
		if err := args(cmd, words); err != nil {
			return dockercli.StatusError{Status: err.Error(), StatusCode: CodeRun}
		}
		return nil
	}
	return FlagsAsRun(cmd)
}
