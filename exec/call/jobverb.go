// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// codeNo is what kill exits with for a job that is not there, or has ended.
const codeNo = 1

// missing answers a verb whose job is not there.
func missing(err error) Failure {
	return Failure{Status: StatusFailed, Reason: err.Error(), Hint: "hostexec ps lists them"}
}

// logs shows what a job wrote, each stream to the caller's own.
func logs(ctx context.Context, c *Call, args []string) error {
	flags := newFlags()
	flags.SetInterspersed(true)
	follow := flags.BoolP("follow", "f", false, "")
	combined := flags.Bool("combined", false, "")
	raw := flags.Bool("raw", false, "")
	if err := flags.Parse(args); err != nil {
		return c.Fail(UsageError("logs: " + names.Printable(err.Error())))
	}
	if flags.NArg() != 1 {
		return c.Fail(UsageError("logs wants one job"))
	}
	kept, err := c.Job(flags.Arg(0))
	if err != nil {
		return c.Fail(missing(err))
	}
	stdout, stderr, err := c.Open()
	if err != nil {
		return err
	}
	ctx, stop := c.Interruptible(ctx)
	defer stop()
	out, errs := until{ctx, stdout}, until{ctx, stderr}
	switch {
	case *raw:
		err = kept.Copy(ctx, out, *follow)
	case *combined:
		err = kept.Copy(ctx, &job.Parser{Out: out, Err: out}, *follow)
	default:
		err = kept.Copy(ctx, &job.Parser{Out: out, Err: errs}, *follow)
	}
	if e, ok := Interrupted(ctx); ok {
		return c.Exit(e)
	}
	if err != nil {
		return errors.Join(err, c.Fail(Failed("the log cannot be read")))
	}
	e := wire.Exit{Outcome: wire.Exited}
	if n := kept.Info().Dropped; n > 0 {
		e.Text = Line("%d bytes that it wrote later were not kept", n)
	}
	return c.Exit(e)
}

// wait returns when the jobs that args name have ended, and has the caller exit as the last
// one did.
func wait(ctx context.Context, c *Call, args []string) error {
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
func each(c *Call, verb string, args []string) (list []*job.Job, wrong *Failure) {
	flags := newFlags()
	if err := flags.Parse(args); err != nil {
		return nil, new(UsageError(verb + ": " + names.Printable(err.Error())))
	}
	if flags.NArg() == 0 {
		return nil, new(UsageError(verb + " wants a job"))
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

// kill ends the jobs and calls that its arguments name, or sends jobs a signal, and prints their ids.
func kill(ctx context.Context, c *Call, args []string) error {
	flags := newFlags()
	flags.SetInterspersed(true)
	name := flags.StringP("signal", "s", "", "")
	all := flags.BoolP("all", "a", false, "")
	if err := flags.Parse(args); err != nil {
		return c.Fail(UsageError("kill: " + names.Printable(err.Error())))
	}
	var sig executor.Signal
	if flags.Changed("signal") {
		var err error
		if sig, err = job.ParseSignal(*name); err != nil {
			return c.Fail(UsageError(fmt.Sprintf("kill: %v: %s", err, names.Quoted(Truncate(*name)))))
		}
	}
	refs := flags.Args()
	switch {
	case *all && len(refs) > 0:
		return c.Fail(UsageError("kill wants ids or --all, not both"))
	case *all:
		for _, kept := range c.Jobs() {
			if info := kept.Info(); info.Status == job.Running {
				refs = append(refs, info.ID)
			}
		}
	case len(refs) == 0:
		return c.Fail(UsageError("kill wants an id or --all"))
	case len(refs) > job.MaxRunning:
		return c.Fail(UsageError(fmt.Sprintf("kill takes at most %d ids", job.MaxRunning)))
	}
	var said, complaints strings.Builder
	var reasons []string
	for id, err := range endEach(ctx, c, refs, sig) {
		if err == nil {
			fmt.Fprintln(&said, id)
		} else if !*all || !errors.Is(err, job.ErrEnded) {
			complaints.WriteString(killFailed(err))
			reasons = append(reasons, err.Error())
		}
	}
	if len(reasons) == 0 {
		return c.Print([]byte(said.String()))
	}
	return c.PrintFailure([]byte(said.String()), Failure{Status: StatusFailed, Code: codeNo,
		Line: complaints.String(), Reason: strings.Join(reasons, "; "), Hint: "hostexec ps lists them"})
}

// killFailed tells why a job was not ended.
func killFailed(err error) string {
	if errors.Is(err, job.ErrUnknown) {
		return missing(err).Text()
	}
	return Line("%v", err)
}

// endEach ends all that refs name at the same time, and yields the results in the order of refs.
func endEach(ctx context.Context, c *Call, refs []string, sig executor.Signal) iter.Seq2[string, error] {
	type result struct {
		id  string
		err error
	}
	results := make([]chan result, len(refs))
	for i, ref := range refs {
		results[i] = make(chan result, 1)
		// ends when that has, or with ctx; the reader below waits for it.
		go func() {
			id, err := endOne(ctx, c, ref, sig)
			results[i] <- result{id, err}
		}()
	}
	return func(yield func(string, error) bool) {
		for _, one := range results {
			r := <-one
			if !yield(r.id, r.err) {
				return
			}
		}
	}
}

// endOne ends what hostexec ps lists by ref: a job, a call or a text of a shell that runs, or
// what one of these has left running. It returns when that is gone.
func endOne(ctx context.Context, c *Call, ref string, sig executor.Signal) (id string, err error) {
	if id, err = listedAs(c, ref); err != nil {
		return "", err
	}
	if err = c.End(ctx, id, sig); errors.Is(err, ErrNotJob) {
		err = fmt.Errorf("%s is %w", names.Printable(Truncate(ref)), err)
	}
	return id, err
}

// listedAs returns the id that hostexec ps lists and that is ref, or alone begins with it.
func listedAs(c *Call, ref string) (string, error) {
	hits := map[string]bool{} // one may be that of a job and of what this has left
	for _, r := range rows(c) {
		if r.ID == ref {
			return ref, nil
		}
		if ref != "" && strings.HasPrefix(r.ID, ref) {
			hits[r.ID] = true
		}
	}
	if len(hits) > 1 {
		return "", fmt.Errorf("%s is the beginning of %d ids", names.Printable(Truncate(ref)), len(hits))
	}
	for id := range hits {
		return id, nil
	}
	return "", fmt.Errorf("%w: %s", job.ErrUnknown, names.Quoted(Truncate(ref)))
}
