// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"context"
	"errors"
	"io"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// logs shows the output of a job, each stream on the caller's own.
func logs(ctx context.Context, c *call.VerbCall, args []string) error {
	flags := newFlags("logs")
	follow := flags.BoolP("follow", "f", false, "")
	combined := flags.Bool("combined", false, "")
	raw := flags.Bool("raw", false, "")
	if ok, err := flags.parse(c, args); !ok {
		return err
	}
	if flags.NArg() != 1 {
		return flags.failArguments(c, "wants one job")
	}
	j, err := findJob(c, flags.Arg(0))
	if err != nil {
		return c.Fail(noSuchJob(err))
	}
	stdout, stderr, err := c.Open()
	if err != nil {
		return err
	}
	ctx, stop := c.Interruptible(ctx)
	defer stop()
	out, errs := interruptibleWriter{ctx, stdout}, interruptibleWriter{ctx, stderr}
	switch {
	case *raw:
		err = j.Copy(ctx, out, *follow)
	case *combined:
		err = j.Copy(ctx, &job.Parser{Out: out, Err: out}, *follow)
	default:
		err = j.Copy(ctx, &job.Parser{Out: out, Err: errs}, *follow)
	}
	if e, ok := call.Interrupted(ctx); ok {
		return c.Exit(e)
	}
	if err != nil {
		return errors.Join(err, c.Fail(call.Failed("the log cannot be read")))
	}
	e := wire.Exit{Outcome: wire.Exited}
	if n := j.Info().Dropped; n > 0 {
		e.Text = call.MessageLine("the last %d bytes of its output were not kept", n)
	}
	return c.Exit(e)
}

// interruptibleWriter writes to w until ctx ends.
type interruptibleWriter struct {
	ctx context.Context
	w   io.Writer
}

func (u interruptibleWriter) Write(b []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.w.Write(b)
}
