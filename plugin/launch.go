// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// launch takes a session from a checked plan to a container that is being started:
//
//	begin    the watcher starts; the record is written
//	create   the share is filled; where HTTP is wanted the watcher listens; docker run's creation, with mount, PATH and labels
//	         then: the watcher is told the id as soon as it serves; login-shell links are copied in
//	finish   docker run is done; the watcher stays with the container
//
// Whatever fails, or interrupts, before the container starts leaves nothing behind.
type launch struct {
	cli   command.Cli
	plan  *plan
	store *state.Store
	dir   string // the session's

	// interrupted says why run is to end, or nil. Docker run detaches from its own context.
	interrupted func() error

	arch   func() (string, error) // waits for the engine's architecture; nil if it was not asked ahead
	filled func() error           // returns when the share is filled; nil before prepare

	link  *watch.Link
	page  sync.WaitGroup // of the page's start
	ready chan struct{}  // closed when the watcher serves, or err is set
	err   error          // why it does not

	id       string      // the container, once it is made
	http     inject.HTTP // how it calls over HTTP
	imageEnv []string    // of its image, where http adds to that
	volume   string      // what it has in place of the share, or ""
	writable []string    // host directories that it can write
	place    string      // where commands run, for people; empty: the link knows
	failed   error       // why create failed, if that was our doing
}

// begin makes the session's record and starts its watcher, which is ready when create
// needs it. The caller calls finish. stdio is for watch.Start.
func begin(ctx context.Context, dockerCLI command.Cli, p *plan, stdio ...*os.File) (*launch, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	if err := checkExec(store.Home); err != nil {
		return nil, err
	}
	if p.rec.ID == "" {
		p.rec.ID = state.NewID()
	}
	p.rec.Relay = p.rec.Attached || p.rec.Carrier == carrier.ByRelay || p.rec.Carrier == "auto" && store.Engine(p.rec.Engine).Carrier != carrier.BySocket
	l := &launch{cli: dockerCLI, plan: p, store: store, dir: store.Dir(p.rec.ID), ready: make(chan struct{})}
	l.interrupted = func() error { return context.Cause(ctx) }
	if l.link, err = watch.Start(l.dir, p.rec.GlobalArgs, stdio...); err != nil {
		return nil, err
	}
	if err = store.Create(&p.rec); err == nil {
		err = l.link.Recorded()
	}
	if err != nil {
		_ = l.link.Close()
		// The folder goes with the watcher, unless a ^C ended that as it began: before it was in
		// a session of its own.
		return nil, errors.Join(err, store.Discard(p.rec.ID))
	}
	// ends when the watcher serves or has failed to; finish waits for it.
	go func() {
		defer close(l.ready)
		l.err = l.link.Ready(ctx)
	}()
	rec := p.rec
	// ends when the page has been started, or need not be; finish waits for it.
	l.page.Go(func() { startPage(store, rec, p.config) })
	return l, nil
}

// create makes the container that docker run wants, or passes the engine's error on, to
// which docker run may answer with a pull and another try.
func (l *launch) create(ctx context.Context, api client.APIClient, want creation) (container.CreateResponse, error) {
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
	l.writable = writable(want)
	if err != nil {
		if ferr := l.filled(); ferr != nil {
			return l.fail(l.cause(ferr))
		}
		return resp, l.explain(err)
	}
	l.id = resp.ID
	if err := l.wanted(api); err != nil {
		return resp, err
	}
	if err := l.adopt(api, want); err != nil {
		l.discard(api)
		return l.fail(l.cause(err))
	}
	return resp, nil
}

// fail notes that err is ours to report: what docker run says of it is not shown.
func (l *launch) fail(err error) (container.CreateResponse, error) {
	l.failed = err
	return container.CreateResponse{}, err
}

// missing has the engine say in its own words that the image is not there, for docker run
// pulls if it is told so. If it came a moment ago, the container made of it lacks what we
// would put in: it goes, and docker run is told what inspect said.
func missing(ctx context.Context, api client.APIClient, want creation) (container.CreateResponse, error) {
	resp, err := want.send(ctx, api)
	if err != nil {
		return resp, err
	}
	remove(api, resp.ID)
	return container.CreateResponse{}, fmt.Errorf("image %s appeared while run was looking for it: run again", want.config.Image)
}

// prepare checks that the container has a place for the share, and begins to fill that. The engine
// looks for the directory now, and uses what is in it when the container starts: adopt waits for that.
// The watcher may still be on its way.
func (l *launch) prepare(ctx context.Context, api client.APIClient, want creation) error {
	targets := inject.Targets(want.config, want.host)
	if t, clash := inject.Clash(targets); clash {
		return fmt.Errorf("a mount at %s is in the way: hostexec uses %s itself", t, inject.Target)
	}
	if l.filled == nil { // docker run may call it again, after a pull
		l.filled = l.fill(ctx, api)
	}
	if l.plan.rec.Carrier == carrier.ByFiles {
		return l.filled() // a directory of the share is mounted, too
	}
	return nil
}

// fill fills the share while the engine makes the container. The returned function waits for that.
func (l *launch) fill(ctx context.Context, api client.APIClient) (filled func() error) {
	done := make(chan error, 1)
	// ends when the engine has told its architecture and the share is filled; finish waits for it.
	go func() {
		arch, err := l.engineArch(ctx, api)
		if err == nil {
			err = fillShare(l.store, l.plan, arch)
		}
		done <- err
	}()
	return sync.OnceValue(func() error { return <-done })
}

// fillShare fills the share of p's session for an engine of that architecture.
func fillShare(store *state.Store, p *plan, arch string) error {
	rec, dir := &p.rec, store.Dir(p.rec.ID)
	if rec.Carrier == carrier.ByFiles {
		c := carrier.Client{Dir: inject.TargetRequests, Pass: slices.Clip(rec.PassEnv), Served: inject.Target + "/" + carrier.File}
		if rec.Agent != nil {
			c.Pass = append(c.Pass, call.StdinVariable)
		}
		err := inject.FillFiles(store.Home, dir, arch, c.Script(), c.Pass, rec.Names())
		return errors.Join(err, inject.FillRules(dir, rec.Ruled))
	}
	err := inject.Fill(store.Home, dir, arch, rec.Names())
	return errors.Join(err, inject.FillRules(dir, rec.Ruled))
}

// explain names the likely reason when the engine does not find what is on this host.
func (l *launch) explain(err error) error {
	if unseen(err, l.dir) && l.withdrawn() {
		l.failed = l.err
		return err
	}
	switch dir := l.plan.workspace; {
	case unseen(err, l.dir) && l.plan.rec.Carrier == carrier.BySocket:
		l.failed = cli.Hint(fmt.Errorf("the engine does not see this host's %s, so no socket of it can be mounted", l.dir),
			"run with --carrier auto, or use an engine on this host: docker context ls")
	case unseen(err, l.dir):
		_ = l.store.NoteEngine(l.plan.rec.Engine, state.Engine{}) // it is found out again
		l.failed = cli.Hint(fmt.Errorf("the engine does not see this host's %s any more", l.dir), "run again: it is looked at anew")
	case dir != "" && unseen(err, dir):
		l.failed = cli.Hint(fmt.Errorf("--workspace: the engine does not see this host's %s", dir),
			"leave --workspace away: commands run in "+l.plan.rec.InvokedIn+", or where --workdir-host says")
	}
	return err
}

// cause returns the reason for err: a watcher that could not start has removed the missing file.
func (l *launch) cause(err error) error {
	if l.withdrawn() {
		return l.err
	}
	return err
}

// withdrawn reports whether the watcher could not start and has removed the session's directory,
// before the engine looked for it.
func (l *launch) withdrawn() bool {
	if _, err := os.Stat(l.dir); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	<-l.ready // or the interruption of run
	return l.err != nil
}

// adopt tells the watcher which container it is, and copies the login-shell links in.
func (l *launch) adopt(api client.APIClient, want creation) error {
	linked := make(chan error, 1)
	// ends with the two requests to the engine that it makes; adopt waits for it.
	go func() { linked <- l.copyLinks(api, want) }()
	<-l.ready // or the interruption of run
	err := l.err
	if err == nil {
		err = l.filled()
	}
	if err == nil {
		err = l.link.Bind(l.id, l.volume)
	}
	for _, w := range l.link.Warnings() {
		l.notice("warning: %s", w)
	}
	if lerr := <-linked; lerr != nil && err == nil {
		l.notice("warning: login shells run the container's own %s, if it has any: %v; those of this host are in %s",
			strings.Join(l.plan.rec.Linked(), ", "), lerr, inject.Bin)
	}
	return err
}

// wanted removes the container when run has been interrupted, and says so.
func (l *launch) wanted(api client.APIClient) error {
	err := l.interrupted()
	if err != nil {
		l.discard(api)
	}
	return err
}

// discard removes the container, which has not run, or hardly.
func (l *launch) discard(api client.APIClient) {
	remove(api, l.id)
	l.id = ""
}

func remove(api client.APIClient, id string) {
	// Whatever ended run must not end this.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// It may be gone already (--rm), and there is nobody to tell; status shows what stays.
	_ = api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
}

// finish ends run's part. Without a container there is no session.
func (l *launch) finish() error {
	<-l.ready
	l.page.Wait()
	if l.filled != nil {
		_ = l.filled() // create has reported its error
	}
	lost := watch.EndLost(l.dir)
	if l.id != "" {
		// A watcher that ended with its container hears no more, and need not.
		_ = l.link.Done()
		return lost
	}
	_ = l.link.Close() // as above, when it was the watcher that objected
	if l.volume != "" {
		removeVolume(l.cli.Client(), l.volume)
	}
	return errors.Join(lost, l.store.Remove(l.plan.rec.ID))
}

// over ends the session of an agent whose container has ended, or was never started.
func (l *launch) over() error {
	if l.id == "" {
		return l.finish()
	}
	<-l.ready
	l.page.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), leaving)
	defer cancel()
	_ = l.link.Over(ctx) // a watcher that has gone hears no more, and need not
	return watch.EndLost(l.dir)
}

// leaving is how long a watcher may take to go, before it is left to itself: its keeper ends
// what it leaves.
const leaving = 2 * time.Second
