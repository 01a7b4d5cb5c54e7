// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// activity is a running call, a job, or a process that one of them has left.
type activity struct {
	job.Info
	Cut       *control.Cut // set if texts are truncated
	Kind      string       // call, job or left
	Session   string
	Container string // the container's name
}

// The kinds of an activity.
const (
	kindCall = "call"
	kindJob  = "job"
	kindLeft = "left"
)

// activities returns the running calls, all jobs, and the processes that they have left, of the given sessions, oldest
// first. If a session cannot be asked, it returns the others together with the error.
func activities(ctx context.Context, store *state.Store, recs []state.Session) ([]activity, error) {
	some, errs := control.Each(recs, func(rec state.Session) ([]activity, error) { return activitiesOf(ctx, store, rec) })
	all := slices.Concat(some...)
	slices.SortStableFunc(all, func(a, b activity) int { return a.Started.Compare(b.Started) })
	return all, errors.Join(errs...)
}

func activitiesOf(ctx context.Context, store *state.Store, rec state.Session) ([]activity, error) {
	all, err := control.Query(ctx, store.Dir(rec.ID), watchedActivities)
	if errors.Is(err, control.ErrNoWatcher) {
		all, err = endedJobs(state.JobsDir(store.Dir(rec.ID)))
	}
	if err != nil {
		err = fmt.Errorf("session %s: %w", rec.ID, err)
	}
	for i := range all {
		all[i].Session, all[i].Container = rec.ID, rec.ContainerName
	}
	return all, err
}

// watchedActivities returns the activities of a session with a watcher.
func watchedActivities(c *control.Client, ctx context.Context) ([]activity, error) {
	st, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := c.Jobs(ctx)
	var all []activity
	for _, info := range jobs {
		all = append(all, activity{Info: info.Info, Cut: info.Cut, Kind: kindJob})
	}
	for _, r := range st.Running {
		if slices.ContainsFunc(all, func(a activity) bool { return a.ID == r.Request }) {
			continue
		}
		all = append(all, activity{Kind: kindCall, Cut: r.Cut, Info: job.Info{
			ID: r.Request, Status: job.Running, Args: names.PrintableArgs(r.Args), Dir: names.Printable(r.Dir), PID: r.PID, Started: r.Since,
		}})
	}
	left, lerr := c.Leftovers(ctx)
	for _, l := range left {
		all = append(all, activity{Kind: kindLeft, Cut: l.Cut, Info: job.Info{ID: l.Request, Status: job.Running, Args: l.Args, PID: l.PID, Started: l.Since}})
	}
	return all, errors.Join(err, lerr)
}

// whole returns a with its complete text. If it has ended meanwhile, a is unchanged.
func (a activity) whole(ctx context.Context, store *state.Store) activity {
	if a.Cut == nil {
		return a
	}
	_ = control.WithClient(ctx, store.Dir(a.Session), func(c *control.Client, ctx context.Context) error {
		a.complete(c, ctx)
		return nil
	})
	return a
}

// complete fetches the complete text of a.
func (a *activity) complete(c *control.Client, ctx context.Context) {
	if a.Kind == kindLeft {
		if l, err := c.LeftoverOf(ctx, a.ID); err == nil {
			a.Args, a.Cut = l.Args, nil
		}
		return
	}
	if a.Kind == kindJob {
		if j, err := c.Job(ctx, a.ID); err == nil {
			a.Info, a.Cut = j.Info, nil
		}
	}
	if r, err := c.Call(ctx, a.ID); err == nil { // a running job is a call, too, and the call has more text than the record
		a.Args, a.Dir, a.Cut = r.Args, r.Dir, nil
	}
}

// endedJobs returns the jobs of a session without a watcher: none of them runs.
func endedJobs(dir string) (all []activity, err error) {
	infos, err := job.Read(dir)
	for _, info := range infos {
		info.Args, info.Dir, info.Reason = names.PrintableArgs(info.Args), names.Printable(info.Dir), names.Printable(info.Reason)
		all = append(all, activity{Info: info, Kind: kindJob})
	}
	return all, err
}

// findActivity returns the activity with the ID ref, or whose ID begins with ref.
func findActivity(all []activity, what, ref string) (activity, error) {
	matching := names.FindID(all, func(a activity) string { return a.ID }, ref) // a job and its remaining processes have one ID
	switch len(matching) {
	case 0:
		return activity{}, cli.Hint(fmt.Errorf("no such %s: %s", what, names.Quoted(ref)), "docker hostexec ps -a")
	case 1:
		return matching[0], nil
	}
	return activity{}, fmt.Errorf("%s is the beginning of %d ids: give more of it", names.Quoted(ref), len(matching))
}
