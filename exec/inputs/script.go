// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"slices"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// interpreter is a program that runs the script that its first positional argument names.
type interpreter struct {
	grammar
	env []string // variables that name files to run before
}

var (
	shellScripts = interpreter{grammar{
		flags: "abefhkmnptuvxBCEHPT", separate: "oO", longFlags: names.WordSet("norc noprofile posix verbose"), plus: true, first: true,
	}, []string{"BASH_ENV"}}
	// In at least one of these shells, each other letter takes a value or ends the options.
	otherShellScripts = interpreter{grammar{flags: "aefnuvx", separate: "o", plus: true, first: true}, nil}
	pythonScripts     = interpreter{grammar{flags: "bBdEhIOPqsSuvVx", values: "WX", first: true}, nil}

	// Built at the first use, so that programs start faster.
	interpreters = sync.OnceValue(func() map[string]interpreter {
		return map[string]interpreter{
			"sh": shellScripts, "bash": shellScripts, "dash": shellScripts, "ash": shellScripts,
			"ksh": otherShellScripts, "mksh": otherShellScripts, "zsh": otherShellScripts,
			"python": pythonScripts, "pypy": pythonScripts,
			"node": {grammar{longFlags: names.WordSet("enable-source-maps no-warnings trace-deprecation trace-warnings"), first: true}, []string{"NODE_OPTIONS"}},
			"ruby": {grammar{flags: "w", first: true}, []string{"RUBYOPT"}},
			"perl": {grammar{flags: "wWtT", first: true}, []string{"PERL5OPT"}},
		}
	})
)

var errNoScript = errors.New("its arguments name no script")

func (s interpreter) find(r *reader) error {
	_, positional, err := s.parse(r.Args, 1)
	if err != nil {
		return err
	}
	switch {
	case len(positional) == 0 || r.Args[positional[0]] == "-":
		return errNoScript
	case family(r.Name) == "node" && slices.Contains([]string{"inspect", "debug"}, r.Args[positional[0]]):
		return errors.New("it runs another script in its debugger")
	}
	_, err = r.operand(positional[0])
	return err
}
