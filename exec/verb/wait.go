// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"context"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// wait returns when the jobs that args name have ended. The caller exits with the code of the last one.
func wait(ctx context.Context, c *call.VerbCall, args []string) error {
	flags := newFlags("wait")
	if ok, err := flags.parse(c, args); !ok {
		return err
	}
	if flags.NArg() == 0 {
		return flags.failArguments(c, "wants a job")
	}
	var list []*job.Job
	for _, ref := range flags.Args() {
		j, err := findJob(c, ref)
		if err != nil {
			return c.Fail(noSuchJob(err))
		}
		list = append(list, j)
	}
	code := 0
	for _, j := range list {
		select {
		case <-j.Done():
			code = j.Info().Code
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return c.Exit(wire.Exit{Outcome: wire.Exited, Code: byte(code)})
}
