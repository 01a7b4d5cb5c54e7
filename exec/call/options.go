// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// options are what stands between hostexec and a command.
type options struct {
	RunOptions
	help, version bool
}

// readyTimeout is how long a job has to become ready.
const readyTimeout = time.Minute

// parseOptions returns what the flags before a command say, and the command. Flags behind its
// name are its own.
func parseOptions(args []string) (o options, err error) {
	flags := newFlags()
	flags.BoolVarP(&o.help, "help", "h", false, "")
	flags.BoolVar(&o.version, "version", false, "")
	flags.BoolVarP(&o.Detach, "detach", "d", false, "")
	flags.StringVar(&o.Timeout, "timeout", "", "")
	flags.StringArrayVar(&o.Env, "env", nil, "")
	flags.BoolVar(&o.Keep, "keep", false, "")
	line := flags.String("wait-for-log", "", "")
	port := flags.String("wait-for-port", "", "")
	wait := flags.String("wait-timeout", "", "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.Command = flags.Args()
	if o.help || o.version {
		return o, nil
	}
	for _, name := range []string{"keep", "wait-for-log", "wait-for-port", "wait-timeout"} {
		if flags.Changed(name) && !o.Detach {
			return o, fmt.Errorf("--%s is for a job, which -d starts", name)
		}
	}
	switch {
	case len(o.Command) == 0:
		return o, fmt.Errorf("%s wants a command after it", names.Printable(Truncate(args[0])))
	case o.Command[0] == "":
		return o, errors.New("the name of the command is empty")
	case slices.ContainsFunc(o.Env, nameless):
		return o, errors.New("--env: want NAME=VALUE")
	case flags.Changed("timeout") && o.Timeout == "":
		return o, fmt.Errorf("--timeout: %w", ErrTimeout)
	}
	if flags.Changed("wait-for-log") {
		if o.Ready.Line, err = parseLine(*line); err != nil {
			return o, fmt.Errorf("--wait-for-log: %w", err)
		}
	}
	if flags.Changed("wait-for-port") {
		n, err := strconv.ParseUint(*port, 10, 16)
		if err != nil || n == 0 {
			return o, fmt.Errorf("--wait-for-port: want a number from 1 to 65535: %s", names.Printable(Truncate(*port)))
		}
		o.Ready.Port = uint16(n)
	}
	o.Ready.Timeout = readyTimeout
	if flags.Changed("wait-timeout") {
		if o.Ready.Timeout, err = ParseTimeout(*wait); err != nil || o.Ready.Timeout == 0 {
			return o, fmt.Errorf("--wait-timeout: %w: %s", ErrTimeout, names.Printable(Truncate(*wait)))
		}
	}
	return o, nil
}

// nameless reports whether kv is not NAME=VALUE.
func nameless(kv string) bool { return strings.IndexByte(kv, '=') < 1 }

// newFlags returns a set of flags that end where the first other word stands.
func newFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet(Name, pflag.ContinueOnError)
	flags.SetInterspersed(false)
	flags.Usage = func() {}
	return flags
}

const (
	// maxPattern is how long a pattern of a caller's may be, in bytes.
	maxPattern = 1 << 10
	// maxPatternSize is how large it may become when its repetitions are written out.
	maxPatternSize = 2000
)

// parseLine reads a pattern that a caller has written: some of few bytes would take a hundred
// megabytes, or milliseconds for each line.
func parseLine(source string) (*regexp.Regexp, error) {
	if source == "" || len(source) > maxPattern {
		return nil, fmt.Errorf("want a regular expression of 1 to %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if patternSize(tree) > maxPatternSize {
		return nil, errors.New("the regular expression repeats too much")
	}
	return regexp.Compile(source)
}

// patternSize is about how many instructions a pattern becomes; at most a little over maxWeight.
func patternSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += patternSize(sub)
		if n > maxPatternSize {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxPatternSize+1)
}
