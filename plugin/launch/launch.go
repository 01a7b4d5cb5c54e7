// SPDX-License-Identifier: Apache-2.0

// Package launch starts a session, from its flags to a container that can make calls. It plans the container's mounts,
// environment and labels, starts the watcher, and fills the share.
//
//	a new container:      Options.Plan, Begin, Launch.Create
//	a running container:  Options.Plan, Attach; later Detach
//
// The verbs that start or resume sessions use it, and so does the verb detach. The watcher, not this package, decides
// on calls and runs commands.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Launch is a session between its checked plan and the start of its container:
//
//	Begin    starts the watcher and writes the record
//	Create   fills the share, lets the watcher listen for HTTP, and creates the container with mount, PATH and labels;
//	         then tells the watcher the container's ID and copies the links for login shells
//	Finish   runs after docker run; the watcher stays with the container
//
// If a step fails or is interrupted before the container starts, everything is removed. Launch has more methods and
// fields than other types because each step must be able to undo the others, also concurrent ones.
type Launch struct {
	CLI   command.Cli
	Plan  *Plan
	Store *state.Store
	Dir   string // of the session

	// Interrupted returns the reason why run must end, or nil. docker run does not cancel its context.
	Interrupted func() error

	// Report gets the messages of Notice; nil: the terminal does.
	Report func(text string)

	bind   func(container, volume string) error // Conn.Bind, until an interruption
	filled func() error                         // waits until the share is filled; nil before Create

	Conn       *watch.Conn
	Background sync.WaitGroup // what the container need not wait for
	Ready      chan struct{}  // closed when the watcher serves, or Err is set
	Err        error          // why the watcher does not serve

	ID          string      // of the container, after its creation
	http        inject.HTTP // how the container calls over HTTP
	imageEnv    []string    // the image's environment, if http adds to it
	volume      string      // the volume in place of the share, or ""
	Writable    []string    // host directories that the container or an agent can write; nil: those of Conn.Writable
	CommandDirs string      // the directories in which commands run, as text for people; empty: those of Conn
	Failed      error       // why Create failed, if hostexec has a better text than the engine
}

// Begin creates the session's record and starts its watcher, which is ready when Create needs it. The caller
// calls Finish. stdio is passed to watch.Start.
func Begin(ctx context.Context, dockerCLI command.Cli, p *Plan, stdio ...*os.File) (*Launch, error) {
	store, err := state.Open()
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
	if l.Conn, err = watch.Start(l.Dir, p.Record.GlobalArgs, stdio...); err != nil {
		return nil, err
	}
	l.bind = func(container, volume string) error { return l.Conn.Bind(ctx, container, volume) }
	if err = store.Create(&p.Record); err == nil {
		err = l.Conn.Recorded()
	}
	if err != nil {
		l.Conn.Abort()
		// The watcher removes the directory, unless ^C ended it before it had called setsid(2).
		return nil, errors.Join(err, store.Discard(p.Record.ID))
	}
	// ends when the watcher serves or has failed to; Finish waits for it.
	go func() {
		defer close(l.Ready)
		l.Err = l.Conn.Ready(ctx)
	}()
	rec := p.Record
	// ends when the page has started or is not needed; Finish waits for it.
	l.Background.Go(func() { StartPage(store, rec, p.Config) })
	// ends when the commands that killed watchers left have ended; Finish waits for it.
	l.Background.Go(func() { watch.EndWithoutKeeper(store) })
	return l, nil
}

// Create creates docker run's container. It returns the engine's errors unchanged, because docker run may
// react with a pull and another try.
func (l *Launch) Create(ctx context.Context, api client.APIClient, want Creation) (container.CreateResponse, error) {
	l.Failed = nil // of a try before a pull
	path, err := containerPath(ctx, api, want)
	if ImageMissing(err) { // docker run has messages for these
		return createUnchanged(ctx, api, want)
	}
	if client.IsErrConnectionFailed(err) || ctx.Err() != nil {
		return container.CreateResponse{}, errors.Join(err, ctx.Err()) // docker run has messages for these
	}
	if err == nil {
		err = l.prepare(ctx, api, want)
	}
	if err != nil {
		return l.fail(l.cause(err))
	}
	resp, err := l.createContainer(ctx, api, want, path)
	want = l.additions(want, path).Apply(want)
	if err != nil {
		if ferr := l.filled(); ferr != nil {
			return l.fail(l.cause(ferr))
		}
		return resp, l.explainRefusal(err)
	}
	l.ID = resp.ID
	if err := l.RemoveIfInterrupted(api); err != nil {
		return resp, err
	}
	if err := l.bindContainer(api, want); err != nil {
		l.discard(api)
		return l.fail(l.cause(err))
	}
	return resp, nil
}

// fail returns err. It sets Failed, because err is not from the engine, so that docker run prints no message of its
// own.
func (l *Launch) fail(err error) (container.CreateResponse, error) {
	l.Failed = err
	return container.CreateResponse{}, err
}

// createUnchanged creates the container without changes, so that docker run gets the engine's own error and pulls the
// image. If the image has appeared meanwhile, the container lacks the session's additions, and is removed.
func createUnchanged(ctx context.Context, api client.APIClient, want Creation) (container.CreateResponse, error) {
	resp, err := want.send(ctx, api)
	if err != nil {
		return resp, err
	}
	remove(api, resp.ID)
	return container.CreateResponse{}, errImageAppeared(want.Config.Image)
}

// prepare checks that no mount hides the share, and starts to fill it. The engine needs the share's files only when the
// container starts: bindContainer waits for them. The watcher need not serve yet, except for calls over HTTP.
func (l *Launch) prepare(ctx context.Context, api client.APIClient, want Creation) error {
	targets := inject.Targets(want.Config, want.Host)
	if t, clash := inject.Clash(targets); clash {
		return fmt.Errorf("a mount at %s is in the way: hostexec uses %s itself", t, inject.Target)
	}
	if l.filled == nil { // docker run may call it again after a pull
		l.filled = l.fill(ctx, api)
	}
	if l.Plan.Record.Carrier == carrier.ByFiles {
		if err := l.filled(); err != nil { // a directory of the share is mounted, too, and must exist
			return err
		}
	}
	return l.listenHTTP(ctx, api, want)
}

// fill fills the share while the engine creates the container. The returned function waits for the end.
func (l *Launch) fill(ctx context.Context, api client.APIClient) (filled func() error) {
	filled = sync.OnceValue(func() error {
		arch, err := l.engineArch(ctx, api)
		if err == nil {
			err = FillShare(l.Store, l.Plan, arch)
		}
		return err
	})
	// ends when the architecture is known and the share is filled; Finish waits for it.
	go filled()
	return filled
}

// FillShare fills the share of p's session for an engine of the given architecture.
func FillShare(store *state.Store, p *Plan, arch string) error {
	rec := &p.Record
	content := inject.Content{Names: rec.Shims(), RuleNames: rec.RuleCommands}
	if rec.Carrier == carrier.ByFiles {
		c := files.Client{Dir: inject.TargetRequests, Pass: rec.PassEnv, Served: inject.Target + "/" + carrier.File}
		content.Client, content.Pass = c.Script(), c.Pass
	}
	return inject.FillShare(store.Home, store.Dir(rec.ID), arch, content)
}

// explainRefusal returns err, the engine's refusal. If the engine does not see a directory of this host, it sets Failed
// to the likely reason.
func (l *Launch) explainRefusal(err error) error {
	if sourceMissing(err, l.Dir) && l.watcherFailed() {
		l.Failed = l.Err
		return err
	}
	switch dir := l.Plan.Workspace; {
	case sourceMissing(err, l.Dir) && l.Plan.Record.Carrier == carrier.BySocket:
		l.Failed = cli.Hint(fmt.Errorf("the engine does not see this host's %s, so no socket of it can be mounted", l.Dir),
			"run with --carrier auto, or use an engine on this host: docker context ls")
	case sourceMissing(err, l.Dir):
		_ = l.Store.NoteEngine(l.Plan.Record.Engine, state.EngineFacts{}) // the next run determines it again
		l.Failed = cli.Hint(fmt.Errorf("the engine does not see this host's %s any more", l.Dir), "run again: hostexec then tests the engine again")
	case dir != "" && sourceMissing(err, dir):
		l.Failed = cli.Hint(fmt.Errorf("--workspace: the engine does not see this host's %s", dir),
			"omit --workspace: commands run in "+l.Plan.Record.InvokedIn+", or where --workdir-host says")
	}
	return err
}

// cause returns the reason for err. A watcher that could not start has removed the session's files, so err may name a
// missing file.
func (l *Launch) cause(err error) error {
	if l.watcherFailed() {
		return l.Err
	}
	return err
}

// watcherFailed reports whether the watcher could not start and has removed the session's directory.
func (l *Launch) watcherFailed() bool {
	if _, err := os.Stat(l.Dir); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	<-l.Ready // also closed when this process is interrupted
	return l.Err != nil
}

// bindContainer tells the watcher the container's ID, and copies the links for login shells.
func (l *Launch) bindContainer(api client.APIClient, want Creation) error {
	c, raw, lerr := l.inspectForLinks(api, want)
	linked := make(chan error, 1)
	// ends with its requests to the engine; bindContainer waits for it.
	go func() {
		if raw != nil {
			lerr = l.copyLinks(api, want, c)
		}
		linked <- lerr
	}()
	<-l.Ready // also closed when this process is interrupted
	err := l.Err
	if err == nil {
		err = l.filled()
	}
	if err == nil && raw != nil {
		err = l.Conn.Inspected(raw)
	}
	if err == nil {
		err = l.bind(l.ID, l.volume)
	}
	l.warnOfMounts()
	if w := linkWarning(<-linked, l.Plan.Record.Linked()); w != "" && err == nil {
		l.Notice("warning: %s", w)
	}
	return err
}

// RemoveIfInterrupted removes the container if this process has been interrupted, and returns the reason.
func (l *Launch) RemoveIfInterrupted(api client.APIClient) error {
	err := l.Interrupted()
	if err != nil {
		l.discard(api)
	}
	return err
}

// discard removes the container, which has not started, or has only just started.
func (l *Launch) discard(api client.APIClient) {
	remove(api, l.ID)
	l.ID = ""
}

func remove(api client.APIClient, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // run's context may be done
	defer cancel()
	_ = callcontainer.Remove(ctx, api, id) // status lists containers that are left
}

// Finish waits for everything that Begin and Create started. Without a container it removes the session.
func (l *Launch) Finish() error {
	<-l.Ready
	l.Background.Wait()
	if l.filled != nil {
		_ = l.filled() // Create has reported its error
	}
	lost := watch.EndUnwatched(l.Dir)
	if l.ID != "" {
		_ = l.Conn.Done() // fails if the watcher has ended with its container
		return lost
	}
	l.Conn.Abort()
	if l.volume != "" {
		removeVolume(l.CLI.Client(), l.volume)
	}
	return errors.Join(lost, l.Store.Remove(l.Plan.Record.ID))
}

// EndAgent ends the session of an agent whose container has ended or never started.
func (l *Launch) EndAgent() error {
	if l.ID == "" {
		return l.Finish()
	}
	<-l.Ready
	l.Background.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), watch.EndTimeout)
	defer cancel()
	_ = l.Conn.EndSession(ctx) // fails if the watcher has ended
	return watch.EndUnwatched(l.Dir)
}
