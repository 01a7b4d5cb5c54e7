// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// codeNotFound is the exit code of kill for an id that does not exist, or whose command has ended.
const codeNotFound = 1

// kill ends the jobs and calls that args name, or sends jobs a signal, and prints their ids.
func kill(ctx context.Context, c *call.VerbCall, args []string) error {
	flags := newFlags("kill")
	name := flags.StringP("signal", "s", "", "")
	all := flags.BoolP("all", "a", false, "")
	if ok, err := flags.parse(c, args); !ok {
		return err
	}
	var sig executor.Signal
	if flags.Changed("signal") {
		var err error
		if sig, err = job.ParseSignal(*name); err != nil {
			return flags.fail(c, fmt.Sprintf("%v: %s", err, names.Quoted(call.Truncate(*name))))
		}
	}
	refs := flags.Args()
	switch {
	case *all && len(refs) > 0:
		return flags.failArguments(c, "wants ids or --all, not both")
	case *all:
		for _, j := range c.Jobs() {
			if info := j.Info(); info.Status == job.Running {
				refs = append(refs, info.ID)
			}
		}
	case len(refs) == 0:
		return flags.failArguments(c, "wants an id or --all")
	case len(refs) > job.MaxRunning:
		return flags.failArguments(c, "takes at most %d ids", job.MaxRunning)
	}
	var ended, failures strings.Builder
	var reasons []string
	for _, e := range endEach(ctx, c, refs, sig) {
		if e.err == nil {
			fmt.Fprintln(&ended, e.id)
		} else if !*all || !errors.Is(e.err, job.ErrEnded) {
			failures.WriteString(killFailed(e.err))
			reasons = append(reasons, e.err.Error())
		}
	}
	if len(reasons) == 0 {
		return c.Print([]byte(ended.String()))
	}
	return c.PrintFailure([]byte(ended.String()), call.Failure{Status: call.StatusFailed, Code: codeNotFound,
		Line: failures.String(), Reason: strings.Join(reasons, "; "), Hint: "hostexec ps lists them"})
}

// killFailed returns the reason why a job was not ended.
func killFailed(err error) string {
	if errors.Is(err, job.ErrUnknown) {
		return noSuchJob(err).Text()
	}
	return call.MessageLine("%v", err)
}

// ending is the result of kill for one id.
type ending struct {
	id  string
	err error
}

// endEach ends everything that refs name at the same time, each entry once. It returns the results in the order of
// refs. It lists the entries only once, because that scans processes of the host.
func endEach(ctx context.Context, c *call.VerbCall, refs []string, sig executor.Signal) []*ending {
	listed := rows(c)
	var all []*ending
	known := map[string]bool{}
	var running sync.WaitGroup
	for _, ref := range refs {
		entry, err := listedAs(listed, ref)
		if err == nil && known[entry.ID] {
			continue
		}
		e := &ending{entry.ID, err}
		all = append(all, e)
		if err == nil {
			known[entry.ID] = true
			// ends with the processes of the entry, or with ctx; Wait waits.
			running.Go(func() { e.err = endOne(ctx, c, entry, ref, sig) })
		}
	}
	running.Wait()
	return all
}

// endOne ends the entry of hostexec ps that ref names. The entry is a job, a running call, a text of a shell, or the
// leftover processes of one of these. It returns when they are gone.
func endOne(ctx context.Context, c *call.VerbCall, entry row, ref string, sig executor.Signal) error {
	switch {
	case ctx.Err() != nil: // looking for leftover processes takes time, and does not end with ctx
		return context.Cause(ctx)
	case entry.Status != job.Running: // if it had left processes, they would be listed
		return fmt.Errorf("job %s: %w", entry.ID, job.ErrEnded)
	}
	err := c.End(ctx, entry.ID, sig)
	if errors.Is(err, call.ErrNotJob) {
		return fmt.Errorf("%s is %w", names.Printable(call.Truncate(ref)), err)
	}
	return err
}

// listedAs returns the entry in listed whose id is ref, or the only one whose id begins with ref. A job that has ended
// and the processes that it has left have the same id: listedAs returns the entry of the processes.
func listedAs(listed []row, ref string) (row, error) {
	hits := names.FindID(listed, func(r row) string { return r.ID }, ref)
	switch len(hits) {
	case 0:
		return row{}, fmt.Errorf("%w or call: %s", job.ErrUnknown, names.Quoted(call.Truncate(ref)))
	case 1:
		runs := func(r row) bool { return r.ID == hits[0].ID && r.Status == job.Running }
		if i := slices.IndexFunc(listed, runs); i >= 0 {
			return listed[i], nil
		}
		return hits[0], nil
	}
	return row{}, fmt.Errorf("%s is the beginning of %d ids", names.Printable(call.Truncate(ref)), len(hits))
}
