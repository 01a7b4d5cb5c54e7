// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

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
	for id, err := range endEach(ctx, c, refs, sig) {
		if err == nil {
			fmt.Fprintln(&ended, id)
		} else if !*all || !errors.Is(err, job.ErrEnded) {
			failures.WriteString(killFailed(err))
			reasons = append(reasons, err.Error())
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

// endEach ends everything that refs name at the same time, and yields the results in the order of refs.
func endEach(ctx context.Context, c *call.VerbCall, refs []string, sig executor.Signal) iter.Seq2[string, error] {
	type result struct {
		id  string
		err error
	}
	results := make([]chan result, len(refs))
	for i, ref := range refs {
		results[i] = make(chan result, 1)
		// ends with endOne, or with ctx; the reader below waits for it.
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

// endOne ends the entry ref of hostexec ps. The entry is a job, a running call, a text of a shell, or the leftover
// processes of one of these. It returns when they are gone.
func endOne(ctx context.Context, c *call.VerbCall, ref string, sig executor.Signal) (id string, err error) {
	if id, err = listedAs(c, ref); err != nil {
		return "", err
	}
	if err = c.End(ctx, id, sig); errors.Is(err, call.ErrNotJob) {
		err = fmt.Errorf("%s is %w", names.Printable(call.Truncate(ref)), err)
	}
	return id, err
}

// listedAs returns the id in the list of hostexec ps that is ref, or the only one that begins with ref.
func listedAs(c *call.VerbCall, ref string) (string, error) {
	hits := names.FindID(rows(c), func(r row) string { return r.ID }, ref) // a job and its leftover processes have the same id
	switch len(hits) {
	case 0:
		return "", fmt.Errorf("%w or call: %s", job.ErrUnknown, names.Quoted(call.Truncate(ref)))
	case 1:
		return hits[0].ID, nil
	}
	return "", fmt.Errorf("%s is the beginning of %d ids", names.Printable(call.Truncate(ref)), len(hits))
}
