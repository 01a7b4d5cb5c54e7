// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"context"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// wait returns when the jobs that args name have ended, and has the caller exit as the last
// one did.
func wait(ctx context.Context, c *call.Call, args []string) error {
	list, wrong := each(c, "wait", args)
	if wrong != nil {
		return c.Fail(*wrong)
	}
	code := 0
	for _, kept := range list {
		select {
		case <-kept.Done():
			code = kept.Info().Code
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return c.Exit(wire.Exit{Outcome: wire.Exited, Code: byte(code)})
}

// each returns the jobs that args name, of which there have to be some.
func each(c *call.Call, verb string, args []string) (list []*job.Job, wrong *call.Failure) {
	flags := newFlags()
	if err := flags.Parse(args); err != nil {
		return nil, new(call.UsageError(verb + ": " + names.Printable(err.Error())))
	}
	if flags.NArg() == 0 {
		return nil, new(call.UsageError(verb + " wants a job"))
	}
	for _, ref := range flags.Args() {
		kept, err := c.Job(ref)
		if err != nil {
			return nil, new(missing(err))
		}
		list = append(list, kept)
	}
	return list, nil
}
