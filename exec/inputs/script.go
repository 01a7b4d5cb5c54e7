// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// interpreter is a program that runs the script that its first operand names.
type interpreter struct {
	grammar
	env []string // variables that name files to run before
}

var (
	shellScripts = interpreter{grammar{
		flags: "abefhkmnptuvxBCEHPT", values: "oO", longFlags: names.WordSet("norc noprofile posix verbose"), plus: true, first: true,
	}, []string{"BASH_ENV"}}
	pythonScripts = interpreter{grammar{flags: "bBdEhIOPqsSuvVx", values: "WX", first: true}, nil}

	// Built at the first use, so that programs start faster.
	interpreters = sync.OnceValue(func() map[string]interpreter {
		return map[string]interpreter{
			"sh": shellScripts, "bash": shellScripts, "dash": shellScripts, "ash": shellScripts, "ksh": shellScripts, "mksh": shellScripts, "zsh": shellScripts,
			"python": pythonScripts, "pypy": pythonScripts,
			"node": {grammar{longFlags: names.WordSet("enable-source-maps no-warnings trace-deprecation trace-warnings"), first: true}, []string{"NODE_OPTIONS"}},
			"ruby": {grammar{flags: "w", first: true}, []string{"RUBYOPT"}},
			"perl": {grammar{flags: "wWtT", first: true}, []string{"PERL5OPT"}},
		}
	})
)

var errNoScript = errors.New("its arguments name no script")

// find reads the script.
func (s interpreter) find(r *reader) error {
	_, operands, err := s.parse(r.Args, 1)
	if err != nil {
		return err
	}
	if len(operands) == 0 || r.Args[operands[0]] == "-" {
		return errNoScript
	}
	_, err = r.operand(operands[0])
	return err
}
