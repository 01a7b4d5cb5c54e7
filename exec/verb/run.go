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
func run(ctx context.Context, c *call.VerbCall, args []string) error {
	f := newRunFlags()
	if ok, err := f.parse(c, args); !ok {
		return err
	}
	if f.version {
		return c.Print(fmt.Appendf(nil, "hostexec version %s\n", c.Version()))
	}
	if f.NArg() == 0 {
		return f.fail(c, names.Printable(call.Truncate(args[0]))+" wants a command after it")
	}
	o, err := f.options()
	if err != nil {
		return f.fail(c, names.Plain(err.Error()))
	}
	return c.Run(ctx, o)
}

// runFlags are the options between hostexec and a command.
type runFlags struct {
	*flagSet
	o                call.RunOptions
	version          bool
	line, port, wait string
}

// newRunFlags returns the options before a command. They end at its name: the words after it are the command's
// own.
func newRunFlags() *runFlags {
	f := &runFlags{flagSet: newFlags("")}
	f.SetInterspersed(false)
	f.BoolVar(&f.version, "version", false, "")
	f.BoolVarP(&f.o.Detach, "detach", "d", false, "")
	f.StringVar(&f.o.Timeout, "timeout", "", "")
	f.StringArrayVar(&f.o.Env, "env", nil, "")
	f.BoolVar(&f.o.Keep, "keep", false, "")
	f.StringVar(&f.line, "wait-for-log", "", "")
	f.StringVar(&f.port, "wait-for-port", "", "")
	f.StringVar(&f.wait, "wait-timeout", "", "")
	return f
}

// options checks the parsed flags, and returns them as options.
func (f *runFlags) options() (o call.RunOptions, err error) {
	f.o.Command = f.Args()
	for _, name := range []string{"keep", "wait-for-log", "wait-for-port", "wait-timeout"} {
		if f.Changed(name) && !f.o.Detach {
			return o, fmt.Errorf("--%s is for a job, which -d starts", name)
		}
	}
	switch {
	case f.o.Command[0] == "":
		return o, errors.New("the name of the command is empty")
	case slices.ContainsFunc(f.o.Env, isNoAssignment):
		return o, errors.New("--env: want NAME=VALUE")
	case f.Changed("timeout") && f.o.Timeout == "":
		return o, fmt.Errorf("--timeout: %w", call.ErrDuration)
	}
	f.o.Ready, err = f.readiness()
	return f.o, err
}

// readyTimeout is the default time limit for a job to become ready.
const readyTimeout = time.Minute

// readiness returns the condition in the flags for which a job's caller waits.
func (f *runFlags) readiness() (r call.Readiness, err error) {
	if f.Changed("wait-for-log") {
		if r.Line, err = parseLine(f.line); err != nil {
			return r, fmt.Errorf("--wait-for-log: %w", err)
		}
	}
	if f.Changed("wait-for-port") {
		n, err := strconv.ParseUint(f.port, 10, 16)
		if err != nil || n == 0 {
			return r, fmt.Errorf("--wait-for-port: want a number from 1 to 65535: %s", names.Printable(call.Truncate(f.port)))
		}
		r.Port = uint16(n)
	}
	r.Timeout = readyTimeout
	if f.Changed("wait-timeout") {
		if r.Timeout, err = call.ParseTimeout(f.wait); err != nil || r.Timeout == 0 {
			return r, fmt.Errorf("--wait-timeout: %w: %s", call.ErrDuration, names.Printable(call.Truncate(f.wait)))
		}
	}
	return r, nil
}

// isNoAssignment reports whether kv is not NAME=VALUE.
func isNoAssignment(kv string) bool { return strings.IndexByte(kv, '=') < 1 }
