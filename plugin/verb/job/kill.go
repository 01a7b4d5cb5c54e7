// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"sync"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const killLong = `End jobs and calls, with all processes that they have started

JOB is the id of a job or call, as docker hostexec ps shows it, or its beginning. The processes
get TERM, and KILL after 5 seconds. If a call or job has ended already, kill ends the processes
that it left running. With --signal, kill only sends that signal to the job's command. Calls get
signals from their callers only.

EXIT STATUS
  0  all jobs have ended, and all calls are ending; or all jobs got the signal
  1  at least one was not found, had ended and left no processes, or cannot get the signal`

// NewKillCommand returns the verb kill.
func NewKillCommand(dockerCLI command.Cli) *cobra.Command {
	var signal string
	cmd := &cobra.Command{
		Use:               "kill [OPTIONS] JOB [JOB...]",
		Short:             "End jobs and calls that run on this host",
		Long:              killLong,
		Example:           "  docker hostexec kill -s HUP 3f2a",
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: completeRunning,
		RunE: cli.Verb(func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("signal") {
				if _, err := job.ParseSignal(signal); err != nil {
					return fmt.Errorf("--signal %s: %w", names.Quoted(signal), err)
				}
			}
			store, err := sessions.OpenStore()
			if err != nil {
				return err
			}
			return killAll(cmd.Context(), dockerCLI, store, args, signal)
		}),
	}
	cmd.Flags().StringVarP(&signal, "signal", "s", "", "Send this `signal` to the job's command instead")
	return cmd
}

// killAll ends the processes of refs concurrently, and prints the IDs.
func killAll(ctx context.Context, dockerCLI command.Cli, store *state.Store, refs []string, signal string) error {
	recs, err := store.List()
	if err != nil {
		return err
	}
	all, err := activities(ctx, store, recs)
	if err != nil && len(all) == 0 {
		return err
	}
	errs := make([]error, len(refs))
	ids := make([]string, len(refs))
	var wg sync.WaitGroup
	for i, ref := range refs {
		// ends when the command has ended; killAll waits for it.
		wg.Go(func() { ids[i], errs[i] = kill(ctx, store, all, ref, signal) })
	}
	wg.Wait()
	for i, id := range ids {
		if errs[i] == nil {
			fmt.Fprintln(dockerCLI.Out(), id)
		}
	}
	if failed := errors.Join(errs...); failed != nil {
		return errors.Join(err, failed) // a session that does not answer may have it
	}
	return nil
}

func kill(ctx context.Context, store *state.Store, all []activity, ref, signal string) (id string, err error) {
	a, err := findActivity(all, "job or call", ref)
	if err != nil {
		return "", err
	}
	c := control.Dial(store.Dir(a.Session))
	defer c.Close()
	switch {
	case a.Kind == kindJob: // an ended job may have left processes
		err = c.SignalJob(ctx, a.ID, signal)
	case a.Kind == kindLeft && signal != "":
		err = errors.New("it has ended and gets no signal: without --signal, kill ends the processes that it left")
	case signal != "":
		err = errors.New("a call gets signals from its caller only\nhint: without --signal, kill ends it")
	default:
		err = c.Kill(ctx, a.ID)
	}
	if errors.Is(err, control.ErrNoWatcher) {
		err = job.ErrEnded
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", a.Kind, a.ID, err)
	}
	return a.ID, nil
}

// completeRunning completes the ids of running calls and jobs.
func completeRunning(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completeActivity(cmd.Context(), func(a activity) bool { return a.Status == job.Running })
}

// completeJobs completes the jobs that have logs.
func completeJobs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completeActivity(cmd.Context(), func(a activity) bool { return a.Kind == kindJob })
}

func completeActivity(ctx context.Context, offer func(activity) bool) ([]string, cobra.ShellCompDirective) {
	store, err := state.OpenReadOnly()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	recs, err := store.List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all, _ := activities(ctx, store, recs) // of the watchers that answer
	var ids []string
	for _, a := range all {
		if offer(a) {
			ids = append(ids, a.ID)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
