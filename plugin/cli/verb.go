// SPDX-License-Identifier: Apache-2.0

// Package cli holds what every verb of docker hostexec on the host shares: errors and exit codes, output formats,
// filters, signals, docker's own flags, and completion of words.
//
// What it says goes to stderr behind "hostexec: ", in lower case and with what to type next; stdout carries only
// answers. Report alone turns errors into exit codes. It knows no session and no configuration: completion of these is
// handed to it.
package cli

import (
	"errors"
	"fmt"

	dockercli "github.com/docker/cli/cli"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// NoArgs makes a mistyped verb an error: a command with RunE would take it as an argument.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.HasSubCommands() {
		return UnknownVerb(cmd, args)
	}
	return dockercli.NoArgs(cmd, args)
}

// UnknownVerb returns the error for a word after cmd that is none of its verbs, with the verb that may have been meant.
func UnknownVerb(cmd *cobra.Command, args []string) error {
	err := fmt.Errorf("unknown verb: %s", names.Escaped(args[0]))
	next := cmd.CommandPath() + " --help"
	if near := names.Near(args[0], VerbNames(cmd)); near != "" {
		next = cmd.CommandPath() + " " + near
	}
	return &Failure{Code: CodeVerb, Err: Hint(err, next)}
}

// VerbNames returns the names of a command's verbs that are not hidden.
func VerbNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, append(c.Aliases, c.Name())...)
		}
	}
	return names
}

type runE = func(cmd *cobra.Command, args []string) error

// Verb returns a RunE that reports errors in our form and ends on a signal.
func Verb(run runE) runE {
	handled := VerbWithSignals(run)
	return func(cmd *cobra.Command, args []string) error {
		defer EndOnSignal(cmd.Context())()
		return handled(cmd, args)
	}
}

// VerbWithSignals returns what Verb does, for a command that handles signals itself.
func VerbWithSignals(run runE) runE {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		var told *Interrupted
		switch {
		case err == nil:
			return nil
		case errors.As(err, &told):
			return told.Status()
		}
		return &Failure{Code: CodeVerb, Err: err}
	}
}

// FlagsAsRun makes a wrong flag end cmd with docker run's exit code, as other failures of cmd do.
func FlagsAsRun(cmd *cobra.Command) *cobra.Command {
	cmd.SetFlagErrorFunc(dockercli.FlagErrorFunc)
	return cmd
}

// ArgsAsRun is FlagsAsRun for a wrong number of arguments, too; docker run itself ends with 1 then.
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
