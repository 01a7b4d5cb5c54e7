// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// run runs the command that follows hostexec and its options.
func run(ctx context.Context, c *call.Call, args []string) error {
	o, err := parseOptions(args)
	switch {
	case err != nil:
		return c.Fail(call.UsageError(names.Plain(err.Error())))
	case o.help:
		return c.Print([]byte(usage))
	case o.version:
		return c.Print(fmt.Appendf(nil, "hostexec version %s\n", c.Version()))
	}
	return c.Run(ctx, o.RunOptions)
}

// options are what stands between hostexec and a command.
type options struct {
	call.RunOptions
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
		return o, fmt.Errorf("%s wants a command after it", names.Printable(call.Truncate(args[0])))
	case o.Command[0] == "":
		return o, errors.New("the name of the command is empty")
	case slices.ContainsFunc(o.Env, nameless):
		return o, errors.New("--env: want NAME=VALUE")
	case flags.Changed("timeout") && o.Timeout == "":
		return o, fmt.Errorf("--timeout: %w", call.ErrTimeout)
	}
	if flags.Changed("wait-for-log") {
		if o.Ready.Line, err = parseLine(*line); err != nil {
			return o, fmt.Errorf("--wait-for-log: %w", err)
		}
	}
	if flags.Changed("wait-for-port") {
		n, err := strconv.ParseUint(*port, 10, 16)
		if err != nil || n == 0 {
			return o, fmt.Errorf("--wait-for-port: want a number from 1 to 65535: %s", names.Printable(call.Truncate(*port)))
		}
		o.Ready.Port = uint16(n)
	}
	o.Ready.Timeout = readyTimeout
	if flags.Changed("wait-timeout") {
		if o.Ready.Timeout, err = call.ParseTimeout(*wait); err != nil || o.Ready.Timeout == 0 {
			return o, fmt.Errorf("--wait-timeout: %w: %s", call.ErrTimeout, names.Printable(call.Truncate(*wait)))
		}
	}
	return o, nil
}

// nameless reports whether kv is not NAME=VALUE.
func nameless(kv string) bool { return strings.IndexByte(kv, '=') < 1 }
