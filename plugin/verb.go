// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"

	dockercli "github.com/docker/cli/cli"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/spelling"
)

// noArgs makes a mistyped verb an error: a command with RunE would take it as an argument.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.HasSubCommands() {
		return unknownVerb(cmd, args)
	}
	return dockercli.NoArgs(cmd, args)
}

// unknownVerb returns the error for a word after cmd that is none of its verbs, with the verb that may have been meant.
func unknownVerb(cmd *cobra.Command, args []string) error {
	err := fmt.Errorf("unknown verb: %s", printable(args[0]))
	next := cmd.CommandPath() + " --help"
	if near := spelling.Near(args[0], verbs(cmd)); near != "" {
		next = cmd.CommandPath() + " " + near
	}
	return &failure{code: codeVerb, err: hint(err, next)}
}

// verbs returns the names of a command's verbs that are not hidden.
func verbs(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, append(c.Aliases, c.Name())...)
		}
	}
	return names
}

type runE = func(cmd *cobra.Command, args []string) error

// verb returns a RunE that reports errors in our form and ends on a signal.
func verb(run runE) runE {
	handled := handlesSignals(run)
	return func(cmd *cobra.Command, args []string) error {
		defer endOnSignal(cmd.Context())()
		return handled(cmd, args)
	}
}

// handlesSignals returns what verb does, for a command that handles signals itself.
func handlesSignals(run runE) runE {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		var told *interrupted
		switch {
		case err == nil:
			return nil
		case errors.As(err, &told):
			return told.status()
		}
		return &failure{code: codeVerb, err: err}
	}
}
