// SPDX-License-Identifier: Apache-2.0

package devcontainer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// starter starts the session of a dev container before there is a container. The same dev container always gets the
// same session ID, because the mount in devcontainer.json contains it.
type starter struct {
	cli   command.Cli
	store *state.Store
	lock  *flock.Flock // held: one process at a time starts such sessions
	lease *os.File     // the session's lease, or nil; the watcher does not end while it is open
}

func openStarter(ctx context.Context, dockerCLI command.Cli) (*starter, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	if err := launch.CheckExec(store.Home); err != nil {
		return nil, err
	}
	s := &starter{cli: dockerCLI, store: store, lock: state.NewLock(store.DevContainersLock())}
	if _, err := s.lock.TryLockContext(ctx, retryInterval); err != nil {
		return nil, fmt.Errorf("wait for another docker hostexec devcontainer: %w", err)
	}
	return s, nil
}

// close lets other processes start sessions. The process holds the lease until it exits.
func (s *starter) close() { s.lock.Close() }

// errEnding means that an earlier session with the same ID has not ended completely.
var errEnding = errors.New("a session is about to end")

const (
	// retryInterval is the interval between attempts to start a session.
	retryInterval = 20 * time.Millisecond
	// maxRemovalTime is more than the removal of a session's directory takes. If a directory without a record is older,
	// a killed process has left it.
	maxRemovalTime = 30 * time.Second
)

// serve ensures that a watcher serves the session of p with the settings of p. It creates the session if there is none.
// A watcher with other settings is replaced. If the watcher is about to end, serve waits for its end.
func (s *starter) serve(ctx context.Context, p *launch.Plan) error {
	for {
		err := s.tryServe(ctx, p)
		if !errors.Is(err, errEnding) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(retryInterval):
		}
	}
}

func (s *starter) tryServe(ctx context.Context, p *launch.Plan) error {
	dir := s.store.Dir(p.Record.ID)
	old, err := s.store.Load(p.Record.ID)
	if errors.Is(err, fs.ErrNotExist) {
		if fi, err := os.Stat(dir); err == nil && time.Since(fi.ModTime()) < maxRemovalTime {
			return errEnding // the record is removed first
		}
		if err := s.store.Remove(p.Record.ID); err != nil { // left by a process that was killed
			return err
		}
		return s.create(ctx, p)
	}
	if err != nil {
		return err
	}
	s.lease, err = lease(dir)
	if errors.Is(err, errLeased) || errors.Is(err, fs.ErrNotExist) {
		return errEnding
	}
	if err != nil {
		return err
	}
	return s.renew(ctx, p, old)
}

// create starts a session that does not exist.
func (s *starter) create(ctx context.Context, p *launch.Plan) error {
	dir := s.store.Dir(p.Record.ID)
	conn, err := watch.Start(dir, p.Record.GlobalArgs)
	if err != nil {
		return err
	}
	err = s.store.Create(&p.Record)
	if err == nil {
		err = s.fill(ctx, p)
	}
	if err == nil {
		s.lease, err = lease(dir)
	}
	if err != nil {
		conn.Abort() // the watcher removes the directory
		return errors.Join(err, s.store.Discard(p.Record.ID))
	}
	if err := awaitReady(ctx, conn); err != nil {
		return err
	}
	launch.StartPage(s.store, p.Record, p.Config)
	return nil
}

// renew ensures that a watcher serves an existing session with the settings of p.
func (s *starter) renew(ctx context.Context, p *launch.Plan, old state.Session) error {
	dir := s.store.Dir(old.ID)
	st, err := sessions.AskWatcher(ctx, s.store, old.ID)
	if err != nil {
		return err
	}
	if st != nil {
		if sameFlags(old, p.Record) {
			return nil
		}
		if err := sessions.StopWatcher(ctx, dir, old.ID, sessions.DefaultGrace); err != nil {
			return err
		}
	}
	rec := p.Record
	rec.Container, rec.ContainerName, rec.Image, rec.Created = old.Container, old.ContainerName, old.Image, old.Created
	if !sameFlags(old, rec) {
		if err := inject.EmptyShare(dir); err != nil {
			return err
		}
		if err := s.fill(ctx, p); err != nil {
			return err
		}
	}
	if err := s.store.Save(&rec); err != nil {
		return err
	}
	conn, err := watch.Start(dir, rec.GlobalArgs)
	if err != nil {
		return err
	}
	if err := awaitReady(ctx, conn); err != nil {
		return err
	}
	if err := s.store.NoteStopped(rec.ID, false); err != nil { // the tool wants the session again
		return err
	}
	launch.StartPage(s.store, rec, p.Config)
	return nil
}

// awaitReady waits until the watcher serves, and disconnects from it.
func awaitReady(ctx context.Context, conn *watch.Conn) error {
	err := conn.Recorded()
	if err == nil {
		err = conn.Ready(ctx)
	}
	derr := conn.Done() // from here on, the lease keeps the watcher
	if err != nil {
		return err
	}
	return derr
}

// fill fills the session's share.
func (s *starter) fill(ctx context.Context, p *launch.Plan) error {
	arch, err := launch.EngineArch(ctx, s.cli.Client())
	if err != nil {
		return err
	}
	return launch.FillShare(s.store, p, arch)
}

// sameFlags reports whether two records result from the same flags.
func sameFlags(a, b state.Session) bool {
	flags := func(s state.Session) state.Session {
		return state.Session{
			Version: s.Version, Commands: nilIfEmpty(s.Commands), RuleCommands: nilIfEmpty(s.RuleCommands), Shell: s.Shell, Carrier: s.Carrier, Relay: s.Relay, Engine: s.Engine,
			WorkdirHost: s.WorkdirHost, InvokedIn: s.InvokedIn, Workspace: s.Workspace, PassEnv: nilIfEmpty(s.PassEnv), NewPrivs: s.NewPrivs,
		}
	}
	return reflect.DeepEqual(flags(a), flags(b))
}

// nilIfEmpty returns nil for an empty list, which a record on disk does not have.
func nilIfEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// expectContainer makes the watcher wait for a container, also when no process holds the session's lease any more.
func expectContainer(store *state.Store, id string) error {
	now := time.Now()
	err := os.Chtimes(state.LeaseFile(store.Dir(id)), now, now)
	if err != nil {
		return fmt.Errorf("keep the session: %w", err)
	}
	return nil
}
