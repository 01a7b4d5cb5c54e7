// SPDX-License-Identifier: Apache-2.0

// Package launch takes a session from checked options to a container that can call: it plans what the container gets
// (mounts, environment, labels), starts the watcher, and fills the share.
//
//	Options -> Plan -> Begin -> Launch -> Create, or Attach -> Detach
//
// It is used by run, attach, agent, proxy and compose. It decides nothing about calls and runs none: the watcher does.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Launch takes a session from a checked plan to a container that is being started:
//
//	Begin    the watcher starts; the record is written
//	Create   the share is filled; where HTTP is wanted the watcher listens; docker run's creation, with mount, PATH and labels
//	         then: the watcher is told the id as soon as it serves; login-shell links are copied in
//	Finish   docker run is done; the watcher stays with the container
//
// Whatever fails, or interrupts, before the container starts leaves nothing behind.
type Launch struct {
	CLI   command.Cli
	Plan  *Plan
	Store *state.Store
	Dir   string // the session's

	// Interrupted says why run is to end, or nil. Docker run detaches from its own context.
	Interrupted func() error

	filled func() error // returns when the share is filled; nil before Create

	Link  *watch.Link
	Page  sync.WaitGroup // of the page's start
	Ready chan struct{}  // closed when the watcher serves, or Err is set
	Err   error          // why it does not

	ID       string      // the container, once it is made
	http     inject.HTTP // how it calls over HTTP
	imageEnv []string    // of its image, where http adds to that
	volume   string      // what it has in place of the share, or ""
	Writable []string    // host directories that it can write
	Place    string      // where commands run, for people; empty: the link knows
	Failed   error       // why Create failed, if that was our doing
}

// Begin makes the session's record and starts its watcher, which is ready when Create
// needs it. The caller calls Finish. stdio is for watch.Start.
func Begin(ctx context.Context, dockerCLI command.Cli, p *Plan, stdio ...*os.File) (*Launch, error) {
	store, err := sessions.OpenSwept()
	if err != nil {
		return nil, err
	}
	if err := CheckExec(store.Home); err != nil {
		return nil, err
	}
	if p.Record.ID == "" {
		p.Record.ID = state.NewID()
	}
	p.Record.Relay = p.Record.Attached || p.Record.Carrier == carrier.ByRelay || p.Record.Carrier == "auto" && store.Engine(p.Record.Engine).Carrier != carrier.BySocket
	l := &Launch{CLI: dockerCLI, Plan: p, Store: store, Dir: store.Dir(p.Record.ID), Ready: make(chan struct{})}
	l.Interrupted = func() error { return context.Cause(ctx) }
	if l.Link, err = watch.Start(l.Dir, p.Record.GlobalArgs, stdio...); err != nil {
		return nil, err
	}
	if err = store.Create(&p.Record); err == nil {
		err = l.Link.Recorded()
	}
	if err != nil {
		_ = l.Link.Close()
		// The folder goes with the watcher, unless a ^C ended that as it began: before it was in
		// a session of its own.
		return nil, errors.Join(err, store.Discard(p.Record.ID))
	}
	// ends when the watcher serves or has failed to; Finish waits for it.
	go func() {
		defer close(l.Ready)
		l.Err = l.Link.Ready(ctx)
	}()
	rec := p.Record
	// ends when the page has been started, or need not be; Finish waits for it.
	l.Page.Go(func() { StartPage(store, rec, p.Config) })
	return l, nil
}

// Create makes the container that docker run wants, or passes the engine's error on, to
// which docker run may answer with a pull and another try.
func (l *Launch) Create(ctx context.Context, api client.APIClient, want Creation) (container.CreateResponse, error) {
	path, err := containerPath(ctx, api, want)
	if errdefs.IsNotFound(err) || errdefs.IsInvalidArgument(err) { // docker has words for these
		return missing(ctx, api, want)
	}
	if client.IsErrConnectionFailed(err) || ctx.Err() != nil {
		return container.CreateResponse{}, errors.Join(err, ctx.Err()) // docker has words for these
	}
	if err == nil {
		err = l.prepare(ctx, api, want)
	}
	if err == nil {
		err = l.listenHTTP(ctx, api, want)
	}
	if err != nil {
		return l.fail(l.cause(err))
	}
	resp, err := l.sendSeen(ctx, api, want, path)
	want = l.edited(want, path)
	l.Writable = writable(want)
	if err != nil {
		if ferr := l.filled(); ferr != nil {
			return l.fail(l.cause(ferr))
		}
		return resp, l.explain(err)
	}
	l.ID = resp.ID
	if err := l.RemoveIfInterrupted(api); err != nil {
		return resp, err
	}
	if err := l.adopt(api, want); err != nil {
		l.discard(api)
		return l.fail(l.cause(err))
	}
	return resp, nil
}

// fail notes that err is ours to report: what docker run says of it is not shown.
func (l *Launch) fail(err error) (container.CreateResponse, error) {
	l.Failed = err
	return container.CreateResponse{}, err
}

// missing has the engine say in its own words that the image is not there, for docker run
// pulls if it is told so. If it came a moment ago, the container made of it lacks what we
// would put in: it goes, and docker run is told what inspect said.
func missing(ctx context.Context, api client.APIClient, want Creation) (container.CreateResponse, error) {
	resp, err := want.send(ctx, api)
	if err != nil {
		return resp, err
	}
	remove(api, resp.ID)
	return container.CreateResponse{}, fmt.Errorf("image %s appeared while run was looking for it: run again", want.Config.Image)
}

// prepare checks that the container has a place for the share, and begins to fill that. The engine
// looks for the directory now, and uses what is in it when the container starts: adopt waits for that.
// The watcher may still be on its way.
func (l *Launch) prepare(ctx context.Context, api client.APIClient, want Creation) error {
	targets := inject.Targets(want.Config, want.Host)
	if t, clash := inject.Clash(targets); clash {
		return fmt.Errorf("a mount at %s is in the way: hostexec uses %s itself", t, inject.Target)
	}
	if l.filled == nil { // docker run may call it again, after a pull
		l.filled = l.fill(ctx, api)
	}
	if l.Plan.Record.Carrier == carrier.ByFiles {
		return l.filled() // a directory of the share is mounted, too
	}
	return nil
}

// fill fills the share while the engine makes the container. The returned function waits for that.
func (l *Launch) fill(ctx context.Context, api client.APIClient) (filled func() error) {
	done := make(chan error, 1)
	// ends when the architecture is known and the share is filled; Finish waits for it.
	go func() {
		arch, err := l.engineArch(ctx, api)
		if err == nil {
			err = FillShare(l.Store, l.Plan, arch)
		}
		done <- err
	}()
	return sync.OnceValue(func() error { return <-done })
}

// FillShare fills the share of p's session for an engine of that architecture.
func FillShare(store *state.Store, p *Plan, arch string) error {
	rec, dir := &p.Record, store.Dir(p.Record.ID)
	if rec.Carrier == carrier.ByFiles {
		c := files.Client{Dir: inject.TargetRequests, Pass: slices.Clip(rec.PassEnv), Served: inject.Target + "/" + carrier.File}
		if rec.Agent != nil {
			c.Pass = append(c.Pass, call.StdinVariable)
		}
		err := inject.FillFiles(store.Home, dir, arch, c.Script(), c.Pass, rec.Names())
		return errors.Join(err, inject.FillRules(dir, rec.RuleCommands))
	}
	err := inject.FillShare(store.Home, dir, arch, rec.Names())
	return errors.Join(err, inject.FillRules(dir, rec.RuleCommands))
}

// explain names the likely reason when the engine does not find what is on this host.
func (l *Launch) explain(err error) error {
	if unseen(err, l.Dir) && l.withdrawn() {
		l.Failed = l.Err
		return err
	}
	switch dir := l.Plan.Workspace; {
	case unseen(err, l.Dir) && l.Plan.Record.Carrier == carrier.BySocket:
		l.Failed = cli.Hint(fmt.Errorf("the engine does not see this host's %s, so no socket of it can be mounted", l.Dir),
			"run with --carrier auto, or use an engine on this host: docker context ls")
	case unseen(err, l.Dir):
		_ = l.Store.NoteEngine(l.Plan.Record.Engine, state.Engine{}) // it is found out again
		l.Failed = cli.Hint(fmt.Errorf("the engine does not see this host's %s any more", l.Dir), "run again: it is looked at anew")
	case dir != "" && unseen(err, dir):
		l.Failed = cli.Hint(fmt.Errorf("--workspace: the engine does not see this host's %s", dir),
			"leave --workspace away: commands run in "+l.Plan.Record.InvokedIn+", or where --workdir-host says")
	}
	return err
}

// cause returns the reason for err: a watcher that could not start has removed the missing file.
func (l *Launch) cause(err error) error {
	if l.withdrawn() {
		return l.Err
	}
	return err
}

// withdrawn reports whether the watcher could not start and has removed the session's directory,
// before the engine looked for it.
func (l *Launch) withdrawn() bool {
	if _, err := os.Stat(l.Dir); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	<-l.Ready // or the interruption of run
	return l.Err != nil
}

// adopt tells the watcher which container it is, and copies the login-shell links in.
func (l *Launch) adopt(api client.APIClient, want Creation) error {
	c, raw, lerr := l.inspectForLinks(api, want)
	linked := make(chan error, 1)
	// ends with the requests to the engine that it makes; adopt waits for it.
	go func() {
		if raw != nil {
			lerr = l.copyLinks(api, want, c)
		}
		linked <- lerr
	}()
	<-l.Ready // or the interruption of run
	err := l.Err
	if err == nil {
		err = l.filled()
	}
	if err == nil && raw != nil {
		err = l.Link.Inspected(raw)
	}
	if err == nil {
		err = l.Link.Bind(l.ID, l.volume)
	}
	for _, w := range l.Link.Warnings() {
		l.Notice("warning: %s", w)
	}
	if w := linkWarning(<-linked, l.Plan.Record.Linked()); w != "" && err == nil {
		l.Notice("warning: %s", w)
	}
	return err
}

// RemoveIfInterrupted removes the container when run has been interrupted, and says so.
func (l *Launch) RemoveIfInterrupted(api client.APIClient) error {
	err := l.Interrupted()
	if err != nil {
		l.discard(api)
	}
	return err
}

// discard removes the container, which has not run, or hardly.
func (l *Launch) discard(api client.APIClient) {
	remove(api, l.ID)
	l.ID = ""
}

func remove(api client.APIClient, id string) {
	// Whatever ended run must not end this.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// It may be gone already (--rm), and there is nobody to tell; status shows what stays.
	_ = api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
}

// Finish ends run's part. Without a container there is no session.
func (l *Launch) Finish() error {
	<-l.Ready
	l.Page.Wait()
	if l.filled != nil {
		_ = l.filled() // Create has reported its error
	}
	lost := watch.EndLost(l.Dir)
	if l.ID != "" {
		// A watcher that ended with its container hears no more, and need not.
		_ = l.Link.Done()
		return lost
	}
	_ = l.Link.Close() // as above, when it was the watcher that objected
	if l.volume != "" {
		removeVolume(l.CLI.Client(), l.volume)
	}
	return errors.Join(lost, l.Store.Remove(l.Plan.Record.ID))
}

// EndAgent ends the session of an agent whose container has ended, or was never started.
func (l *Launch) EndAgent() error {
	if l.ID == "" {
		return l.Finish()
	}
	<-l.Ready
	l.Page.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), LeaveTime)
	defer cancel()
	_ = l.Link.Over(ctx) // a watcher that has gone hears no more, and need not
	return watch.EndLost(l.Dir)
}

// LeaveTime is how long a watcher may take to go, before it is left to itself: its keeper ends
// what it leaves.
const LeaveTime = 2 * time.Second
