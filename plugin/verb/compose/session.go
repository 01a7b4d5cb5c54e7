// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/client"
	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// services sees to the sessions of a project's services. What it makes or finds is leased:
// it stays as long as one of leases is open, and then as long as there are containers.
type services struct {
	cli    command.Cli
	api    client.APIClient
	store  *state.Store
	lock   *flock.Flock // held: one at a time makes sessions
	leases []*os.File
}

func openServices(ctx context.Context, dockerCLI command.Cli, api client.APIClient) (*services, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	if err := launch.CheckExec(store.Home); err != nil {
		return nil, err
	}
	s := &services{cli: dockerCLI, api: api, store: store, lock: flock.New(store.ServicesLock())}
	if ok, err := s.lock.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return nil, errors.Join(errors.New("wait for another docker hostexec compose"), err)
	}
	return s, nil
}

// close lets others make sessions. Leases stay.
func (s *services) close() { s.lock.Close() }

// known completes p's record with what a service's session keeps as long as it is there.
func (s *services) known(p *launch.Plan) {
	rec := &p.Record
	if rec.ID == "" {
		rec.ID = s.store.ServiceID(rec.Engine, rec.Service.Project, rec.Service.Name)
	}
	rec.Relay = rec.Carrier == carrier.ByRelay || rec.Carrier == "auto" && s.store.Engine(rec.Engine).Carrier != carrier.BySocket
	if rec.Service.Project == state.Devcontainers {
		rec.Relay = true // what was printed has a place for one
	} else if old, err := s.store.Load(rec.ID); err == nil && old.Carrier == rec.Carrier {
		rec.Relay = old.Relay // its containers have a place for one, or not
	}
}

// errEnding says that a session of that id is not all gone yet.
var errEnding = errors.New("a session is about to end")

// hold makes the session of p, or finds it, and has it served as p says. A watcher that
// serves something else is replaced; one that is about to end is waited for.
func (s *services) hold(ctx context.Context, p *launch.Plan) error {
	for {
		err := s.tryHold(ctx, p)
		if !errors.Is(err, errEnding) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *services) tryHold(ctx context.Context, p *launch.Plan) error {
	dir := s.store.Dir(p.Record.ID)
	old, err := s.store.Load(p.Record.ID)
	if errors.Is(err, fs.ErrNotExist) {
		if fi, err := os.Stat(dir); err == nil && time.Since(fi.ModTime()) < removing {
			return errEnding // its record goes first
		}
		if err := s.store.Remove(p.Record.ID); err != nil { // what was left by one that was killed over it
			return err
		}
		return s.make(ctx, p)
	}
	if err != nil {
		return err
	}
	f, err := lease(dir)
	if errors.Is(err, errLeased) || errors.Is(err, fs.ErrNotExist) {
		return errEnding
	}
	if err != nil {
		return err
	}
	s.leases = append(s.leases, f)
	return s.renew(ctx, p, old)
}

// removing is longer than a folder takes to be removed.
const removing = 30 * time.Second

// make begins a session that is not there yet.
func (s *services) make(ctx context.Context, p *launch.Plan) error {
	dir := s.store.Dir(p.Record.ID)
	link, err := watch.Start(dir, p.Record.GlobalArgs)
	if err != nil {
		return err
	}
	err = s.store.Create(&p.Record)
	if err == nil {
		err = s.fill(ctx, p)
	}
	var f *os.File
	if err == nil {
		f, err = lease(dir)
	}
	if err != nil {
		_ = link.Close() // the folder goes with the watcher, if it is there
		return errors.Join(err, s.store.Discard(p.Record.ID))
	}
	s.leases = append(s.leases, f)
	if err := s.begun(ctx, link); err != nil {
		return err
	}
	launch.StartPage(s.store, p.Record, p.Config)
	return nil
}

// renew has a session served as p says that was there before.
func (s *services) renew(ctx context.Context, p *launch.Plan, old state.Session) error {
	dir := s.store.Dir(old.ID)
	st, err := sessions.AskWatcher(ctx, s.store, old.ID)
	if err != nil {
		return err
	}
	serves := st != nil
	if serves && alike(old, p.Record) {
		return nil
	}
	if serves {
		if err := sessions.StopWatcher(ctx, dir, old.ID, sessions.DefaultGrace); err != nil {
			return err
		}
	}
	rec := p.Record
	rec.Container, rec.ContainerName, rec.Image, rec.Created = old.Container, old.ContainerName, old.Image, old.Created
	if !alike(old, rec) {
		if err := inject.Empty(dir); err != nil {
			return err
		}
		if err := s.fill(ctx, p); err != nil {
			return err
		}
	}
	if err := s.store.Save(&rec); err != nil {
		return err
	}
	link, err := watch.Start(dir, rec.GlobalArgs)
	if err != nil {
		return err
	}
	if err := s.begun(ctx, link); err != nil {
		return err
	}
	if err := s.store.NoteStopped(rec.ID, false); err != nil { // by us, or by a person who wants it again
		return err
	}
	launch.StartPage(s.store, rec, p.Config)
	return nil
}

// begun waits until the watcher serves, and leaves it to itself.
func (s *services) begun(ctx context.Context, link *watch.Link) error {
	err := link.Recorded()
	if err == nil {
		err = link.Ready(ctx)
	}
	derr := link.Done() // the lease says the rest
	if err != nil {
		return err
	}
	return derr
}

// fill fills a session's share.
func (s *services) fill(ctx context.Context, p *launch.Plan) error {
	arch, err := launch.EngineArch(ctx, s.api)
	if err != nil {
		return err
	}
	return launch.FillShare(s.store, p, arch)
}

// alike reports whether two records ask for the same.
func alike(a, b state.Session) bool {
	asked := func(s state.Session) state.Session {
		return state.Session{
			Version: s.Version, Commands: s.Commands, RuleCommands: s.RuleCommands, Shell: s.Shell, Carrier: s.Carrier, Relay: s.Relay, Engine: s.Engine, Service: s.Service,
			WorkdirHost: s.WorkdirHost, InvokedIn: s.InvokedIn, Workspace: s.Workspace, PassEnv: s.PassEnv, NewPrivs: s.NewPrivs,
		}
	}
	a, b = asked(a), asked(b)
	if len(a.PassEnv) == 0 && len(b.PassEnv) == 0 {
		a.PassEnv, b.PassEnv = nil, nil
	}
	if len(a.Commands) == 0 && len(b.Commands) == 0 {
		a.Commands, b.Commands = nil, nil
	}
	if len(a.RuleCommands) == 0 && len(b.RuleCommands) == 0 {
		a.RuleCommands, b.RuleCommands = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// linkShare makes the path at which those who write compose files find a session's share.
func linkShare(store *state.Store, rec state.Session) error {
	at := store.ServiceShare(rec.Service.Project, rec.Service.Name)
	target := state.ShareDir(store.Dir(rec.ID))
	if old, err := os.Readlink(at); err == nil && old == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	fi, err := os.Lstat(at)
	if err == nil && fi.Mode().Type() != fs.ModeSymlink {
		return cli.Hint(fmt.Errorf("%s is in the way: the engine may have made it before the provider was there", at), "remove it, and let the service depend on the provider")
	}
	if err == nil {
		err = os.Remove(at)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(target, at)
}

// promise has a session's watcher wait for a container that nobody holds a lease for, for
// ten minutes and more.
func promise(store *state.Store, id string, more time.Duration) error {
	at := time.Now().Add(more)
	return os.Chtimes(state.LeaseFile(store.Dir(id)), at, at)
}

// SweepShares removes the links to shares that are gone.
func SweepShares(store *state.Store) error {
	links, err := filepath.Glob(store.ServiceShare("*", "*"))
	for _, at := range links {
		if _, serr := os.Stat(at); errors.Is(serr, fs.ErrNotExist) {
			err = errors.Join(err, unlinkShare(store, filepath.Base(filepath.Dir(at)), filepath.Base(at)))
		}
	}
	return err
}

// unlinkShare undoes linkShare.
func unlinkShare(store *state.Store, project, name string) error {
	at := store.ServiceShare(project, name)
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Dir(at)) // of a project with other services it stays
	return nil
}
