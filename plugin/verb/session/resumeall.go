// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/docker/cli/cli/command"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// lostSessions returns the sessions without a watcher that no person has ended. Sessions of agents and proxies end
// with their processes and are not resumed.
func lostSessions(store *state.Store) ([]state.Session, error) {
	recs, err := store.List()
	return slices.DeleteFunc(recs, func(rec state.Session) bool {
		return rec.Agent != nil || rec.Proxy != nil || rec.Container == "" || store.Stopped(rec.ID) || sessions.Locked(store, rec.ID)
	}), err
}

// resumeAll resumes the lost sessions. A failure does not affect the others.
func resumeAll(ctx context.Context, dockerCLI command.Cli, store *state.Store) error {
	recs, err := lostSessions(store)
	errs := []error{err}
	for _, s := range sessions.States(ctx, dockerCLI, store, recs) {
		switch s.State {
		case sessions.StateUnknown:
			errs = append(errs, resumable(s))
			continue
		case sessions.StateLost:
		default:
			continue
		}
		if err := resume(ctx, dockerCLI, store, s); err != nil {
			errs = append(errs, fmt.Errorf("session %s: %w", s.ID, err))
			continue
		}
		fmt.Fprintln(dockerCLI.Out(), s.ID)
	}
	return errors.Join(errs...)
}

const (
	// resumeInterval is the interval at which keepResuming looks for lost sessions.
	resumeInterval = 3 * time.Second
	// finishTimeout is the time limit for resumptions in progress when keepResuming must end.
	finishTimeout = 30 * time.Second
	// maxRetryDelay is the maximum delay before sessions that could not be resumed are tried again.
	maxRetryDelay = 5 * time.Minute
)

// keepResuming resumes lost sessions until ctx ends.
func keepResuming(ctx context.Context, dockerCLI command.Cli, store *state.Store) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer stop()
	tick := time.NewTicker(resumeInterval)
	defer tick.Stop()
	var tried string
	var retryAt time.Time
	var delay time.Duration
	for {
		_ = watch.EndAllUnwatched(store) // prune reports what cannot be ended
		lost, err := lostIDs(ctx, dockerCLI, store)
		if err != nil {
			return err
		}
		switch now := time.Now(); {
		case ctx.Err() != nil:
			return nil
		case lost == "":
			tried = ""
		case lost != tried || now.After(retryAt):
			if err := resumeInChild(ctx, dockerCLI); err != nil {
				return err
			}
			if delay = min(2*delay, maxRetryDelay); lost != tried {
				delay = resumeInterval
			}
			tried, retryAt = lost, now.Add(delay)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// lostIDs returns the IDs of the sessions that can be resumed.
func lostIDs(ctx context.Context, dockerCLI command.Cli, store *state.Store) (ids string, err error) {
	recs, err := lostSessions(store)
	for _, s := range sessions.States(ctx, dockerCLI, store, recs) {
		if s.State == sessions.StateLost {
			ids += s.ID + "\n"
		}
	}
	return ids, err
}

// resumeInChild runs resume --all in another process. Watchers must not be children of a process that stays,
// because it would have to reap them.
func resumeInChild(ctx context.Context, dockerCLI command.Cli) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe, append(cli.GlobalArgs(dockerCLI), cli.PluginName, "resume", "--all")...)
	cmd.Env = cli.WithoutPluginEnv(os.Environ())
	cmd.Stdout, cmd.Stderr = dockerCLI.Out(), dockerCLI.Err()
	cmd.Cancel = func() error { return nil } // it may finish its work
	cmd.WaitDelay = finishTimeout
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) || ctx.Err() != nil {
		return nil // the process has reported its errors
	}
	return err
}
