// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/flags"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// flagSet parses the arguments of one verb. All verbs report wrong arguments in the same form.
type flagSet struct {
	*pflag.FlagSet
	verb string // "logs", "session exec"; empty for the options before a command
	help string // the text for --help
	hint string // where to find that text
}

// newFlags returns the flags of a verb. They may stand before and after its other arguments.
func newFlags(verb string) *flagSet {
	f := &flagSet{pflag.NewFlagSet(verb, pflag.ContinueOnError), verb, usage, "see hostexec --help"}
	f.Usage = func() {} // the caller gets it, not the stderr of the host
	return f
}

// parse reads words. If the caller asks for help, or its words are wrong, parse answers the call and
// reports false.
func (f *flagSet) parse(c *call.VerbCall, words []string) (ok bool, err error) {
	switch err := f.Parse(words); {
	case errors.Is(err, pflag.ErrHelp):
		return false, c.Print([]byte(f.help))
	case err != nil:
		if near := flags.Near(f.FlagSet, err); near != "" {
			f.hint = "did you mean " + near + "? " + f.hint
		}
		return false, f.fail(c, names.Plain(err.Error()))
	}
	return true, nil
}

// fail answers that a flag is wrong.
func (f *flagSet) fail(c *call.VerbCall, why string) error {
	if f.verb != "" {
		why = f.verb + ": " + why
	}
	return c.Fail(f.failure(why))
}

// failArguments reports that the arguments without the flags are not those that the verb expects.
func (f *flagSet) failArguments(c *call.VerbCall, format string, a ...any) error {
	return c.Fail(f.failure(f.verb + " " + fmt.Sprintf(format, a...)))
}

func (f *flagSet) failure(why string) call.Failure {
	return call.Failure{Status: call.StatusFailed, Reason: why, Hint: f.hint}
}
