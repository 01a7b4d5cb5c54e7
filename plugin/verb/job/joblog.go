// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/streams"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// jobLog prints the output of a job of the sessions that refs name. On a terminal it escapes control
// sequences.
func jobLog(ctx context.Context, dockerCLI command.Cli, store *state.Store, refs []string, opts logsOptions) error {
	recs, err := sessions.FindAll(store, refs)
	if err != nil {
		return err
	}
	all, err := activities(ctx, store, recs)
	if err != nil && len(all) == 0 {
		return err
	}
	a, notFound := findJob(all, opts.job)
	if notFound != nil {
		return errors.Join(err, notFound) // a session that does not answer may have it
	}
	dir := store.Dir(a.Session)
	more := func() bool { return opts.follow && watched(ctx, dir) }
	info, err := job.Copy(ctx, state.JobsDir(dir), a.ID, jobWriter(dockerCLI, opts), more)
	if err != nil {
		return err
	}
	switch {
	case info.Status == job.Running && a.Status != job.Running:
		cli.Say(dockerCLI.Err(), "it ended with signal KILL: %s", a.Reason)
	case info.Dropped > 0:
		cli.Say(dockerCLI.Err(), "the last %d bytes of its output were not kept", info.Dropped)
	}
	return nil
}

// findJob returns the job of all with the ID ref, or whose ID begins with ref.
func findJob(all []activity, ref string) (activity, error) {
	var jobs, others []activity
	for _, a := range all {
		if a.Kind == kindJob {
			jobs = append(jobs, a)
		} else {
			others = append(others, a)
		}
	}
	a, err := findActivity(jobs, "job", ref)
	if err == nil || slices.ContainsFunc(jobs, func(j activity) bool { return strings.HasPrefix(j.ID, ref) }) {
		return a, err
	}
	if other, notFound := findActivity(others, "job", ref); notFound == nil {
		err = cli.Hint(fmt.Errorf("%s is a call, not a job", other.ID), "its caller gets its output; docker hostexec ps --filter kind=job lists the jobs")
	}
	return activity{}, err
}

// jobWriter returns the destination of a combined log.
func jobWriter(dockerCLI command.Cli, opts logsOptions) io.Writer {
	if opts.raw {
		return dockerCLI.Out()
	}
	out, errs := escaping(dockerCLI.Out()), escaping(dockerCLI.Err())
	if opts.combined {
		errs = out
	}
	return &job.Parser{Out: out, Err: errs}
}

// escaping returns w or, if w is a terminal, a writer that escapes control sequences.
func escaping(w *streams.Out) io.Writer {
	if !w.IsTerminal() {
		return w
	}
	return &shownWriter{w: w}
}

type shownWriter struct {
	w    io.Writer
	safe asciiOutput
}

func (s *shownWriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(s.w, s.safe.render(string(b))); err != nil {
		return 0, fmt.Errorf("show log: %w", err)
	}
	return len(b), nil
}

// watched reports whether the session with the directory dir has a watcher. Without one its jobs write no more
// output.
func watched(ctx context.Context, dir string) bool {
	_, err := control.Query(ctx, dir, (*control.Client).Status)
	return !errors.Is(err, control.ErrNoWatcher) // one that does not answer may continue
}
