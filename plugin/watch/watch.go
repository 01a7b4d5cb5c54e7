// SPDX-License-Identifier: Apache-2.0

// Package watch is one session's watcher: carriers in, calls out, for as long as the
// container lives.
//
//	run --Link--> keeper --starts--> watcher <--share/socket-- container
//	                                    |  \--control.sock-- status, stop ...
//	                                  engine (waits for the container to end)
//
// Its one law: the watcher is there before the container's first instruction and gone
// after its last, or that of the jobs that are kept; and when it goes, however it goes, no command of the session stays:
// the keeper above it sees to that. It decides nothing and speaks no protocol itself.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Watcher serves one session. Set its fields, then Run it.
type Watcher struct {
	Dir       string // the session's folder
	Record    *Record
	Questions *Questions
	Config    *Configuration
	Version   string                            // ours
	Engine    func() (Engine, error)            // connects to the session's engine
	Another   func(host string) (Engine, error) // connects to one that is named as by DOCKER_HOST
	Keeper    io.ReadCloser                     // ends when the keeper dies

	log            *slog.Logger
	Calls          *Calls
	audit          *audit.Log
	CallContainers *CallContainers
	since          time.Time
	Life           *Lifetime
	Carriers       *Carriers
	Warnings       *Warnings
	requests       requestLimit
	leftovers      leftovers
	transport      *transport
	mounts         *mountCheck
	dirs           *requestDirs
	proxy          *proxy // nil where there is a container
	admission      *admission
	left           time.Time      // when the last one was left
	lease          *flock.Flock   // held from when none is to come until this process has gone
	wg             sync.WaitGroup // all that serve started
}

// settling is how long after its start a watcher gives back the memory that only its start needed: a
// tenth of what it has. The runtime alone would keep it.
const settling = time.Second

var (
	ErrStopped = errors.New("the session was stopped")
	ErrGone    = errors.New("the container is gone")
	ErrOver    = errors.New("the container has stopped")
)

// Run serves the session until its container ends or the watcher is told to. It reports
// its progress to up, the other end of a Link, which it closes.
func (w *Watcher) Run(ctx context.Context, up *os.File) error {
	link := newWatcherLink(up)
	defer link.close()
	store, id := state.Of(w.Dir)
	if !link.recorded(ctx) {
		return store.Discard(id) // run was killed over it
	}
	err := w.run(ctx, link)
	if err != nil {
		link.fail(err) // nobody listens any more unless it is early
	}
	if w.Record != nil && (w.Record.Service != nil || w.Life != nil && w.Life.keeps()) { // which another one may have by now, under the same id
		return err
	}
	return errors.Join(err, store.Discard(id))
}

func (w *Watcher) run(ctx context.Context, link *watcherLink) error {
	if err := dir.CloexecAll(); err != nil {
		return err
	}
	// A watcher is there all day and mostly idle: memory matters more than the time to
	// collect it, of which calls make little.
	debug.SetGCPercent(10)
	debug.SetMemoryLimit(collectAbove)
	proctree.DefaultSignals()
	if err := proctree.BecomeSubreaper(); err != nil {
		return err
	}
	lock := flock.New(state.LockFile(w.Dir))
	// One that was told to end may be on its last lines.
	patience, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if ok, err := lock.TryLockContext(patience, Poll/10); err != nil || !ok {
		return errors.Join(fmt.Errorf("another watcher serves session %s", filepath.Base(w.Dir)), err)
	}
	defer lock.Close()

	logFile, err := state.OpenLog(w.Dir)
	if err != nil {
		return err
	}
	defer logFile.Close()
	w.log = slog.New(slog.NewTextHandler(logFile, nil))

	store, id := state.Of(w.Dir)
	rec, err := store.Load(id)
	if err != nil {
		return err
	}
	w.Record = NewRecord(store, rec, w.log)
	w.Config = NewConfiguration(w.Record, w.log)
	w.Warnings = &Warnings{record: w.Record, config: w.Config}
	w.Record.Version = w.Version
	who := audit.SessionInfo{Project: filepath.Base(w.Record.InvokedIn), Branch: branch(w.Record.InvokedIn), Session: w.Record.ID, Agent: w.Record.AgentName()}
	c := w.Config.Load()
	options := auditing(c.Audit)
	options.NoRecords = w.Record.Container == ""
	if w.audit, err = audit.Open(w.Record.Store.Audit(), who, options); err != nil {
		return err
	}
	defer w.audit.Close()
	return w.serve(ctx, link)
}

// serve opens the doors, says so, and follows the container until it is over. It returns
// when every call has been answered and everything that calls started has ended.
func (w *Watcher) serve(ctx context.Context, link *watcherLink) (err error) {
	w.Life, ctx = newLifetime(ctx, w.Record, w.log)
	defer w.Life.Stop(nil)
	host, err := executor.NewHost(w.log)
	if err != nil {
		return err
	}
	host.Session = w.Record.ID
	w.endLost()
	if err = w.newCalls(host); err != nil {
		return errors.Join(err, host.Close())
	}
	doors, err := w.listen()
	if err != nil {
		return errors.Join(err, host.Close())
	}
	ctl, err := carrier.Bind(w.Record.Dir, filepath.Base(state.ControlSock(w.Record.Dir)), 0o600)
	if err != nil {
		return errors.Join(fmt.Errorf("listen for control: %w", err), closeAll(doors), host.Close())
	}
	w.Life.begin(ctx)
	if w.Record.Service != nil {
		w.admission.containerKnown.shut() // before the doors are attended to
	}
	var doorman sync.WaitGroup
	// end when their listeners are closed, below.
	w.wg.Go(func() { w.serveListeners(ctx, doors) })
	doorman.Go(func() { w.log.Debug("control ended", "error", control.Serve(ctl, controlAPI{w})) })
	// end with ctx.
	w.wg.Go(func() { w.signals(ctx) })
	w.wg.Go(func() { w.watchKeeper(ctx) })
	w.wg.Go(func() { w.Questions.announce(ctx) })
	w.wg.Go(func() { w.Calls.review(ctx) })

	w.log.Info("serving", "session", w.Record.ID, "version", w.Version, "commands", w.Record.Names())
	settled := time.AfterFunc(settling, debug.FreeOSMemory)
	defer settled.Stop()
	err = w.runSession(ctx, link)
	if w.Record.Container != "" {
		w.Record.restore() // nobody can when this process has gone
	}
	w.Life.Stop(err) // calls in flight and jobs end, whole trees of them
	w.log.Info("ending", "reason", err)
	err = closeAll(doors)
	w.wg.Wait()
	w.Carriers.Decide(carrier.Gone, "the session has ended")
	w.CallContainers.containers.Close()
	w.Calls.Server.Shells.Within(w.Life.graceOf(ctx))
	err = errors.Join(err, w.Calls.Server.Shells.Close())
	host.Grace = w.Life.graceOf(ctx)
	err = errors.Join(err, host.Close())
	// Last, for who asks whether the watcher is gone asks whether all of it is.
	err = errors.Join(err, ctl.Close(), os.Remove(state.ControlSock(w.Record.Dir)))
	doorman.Wait()
	if w.proxy != nil {
		err = errors.Join(err, w.dirs.close())
	}
	if w.Calls.dirs != nil {
		w.Calls.dirs.Close()
	}
	// What was kept is asked about when it has ended, and by then its container may be gone.
	if errors.Is(context.Cause(ctx), ErrGone) && !w.Life.keeps() {
		err = w.Record.Store.Remove(w.Record.ID)
	}
	return err
}

// runSession returns why the session ends, when it does.
func (w *Watcher) runSession(ctx context.Context, link *watcherLink) error {
	switch {
	case w.proxy != nil:
		return w.stay(ctx, link)
	case w.Record.Service != nil:
		return w.followService(ctx, link)
	}
	return w.follow(ctx, link)
}

func closeAll(doors []net.Listener) (err error) {
	for _, d := range doors {
		err = errors.Join(err, d.Close())
	}
	return err
}

// serveListeners serves what comes to doors until they are closed. It returns when all calls, and
// the jobs that they began, have ended.
func (w *Watcher) serveListeners(ctx context.Context, doors []net.Listener) {
	var wg sync.WaitGroup
	for _, ln := range doors {
		// ends when ln is closed.
		wg.Go(func() { w.accept(ctx, ln) })
	}
	wg.Wait()
	w.Calls.Server.Wait()
}

// accept serves each call in a goroutine of its own, until ln is closed, and returns
// when all of them have ended.
func (w *Watcher) accept(ctx context.Context, ln net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := ln.Accept()
		if err == nil && !w.admission.admit(ctx) {
			conn.Close()
			return
		}
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors, for one
			w.log.Error("accept", "error", err)
			if !Pause(ctx, 50*time.Millisecond) {
				return
			}
			continue
		}
		// ends when the caller hangs up, the command has ended, or ctx is done.
		wg.Go(func() {
			// What was never heard is not written down: a container could fill the disk with it.
			if err := w.Calls.Server.Serve(ctx, w.Life.term.Load(), conn); err != nil && !errors.Is(err, call.ErrNoRequest) {
				w.log.Warn("call", "error", err)
			}
		})
	}
}

// signals ends the session on TERM and INT. HUP has the configuration looked at, which the
// next call would have done.
func (w *Watcher) signals(ctx context.Context) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(c)
	for {
		select {
		case s := <-c:
			switch why := fmt.Errorf("%w: %v", ErrStopped, s); {
			case s == syscall.SIGHUP:
			case w.proxy != nil:
				w.askToEnd(why)
				continue
			case w.Life.Agent != nil && w.Life.Agent.Asked.Err() == nil:
				w.Life.stopWithin(usual)
				continue
			default:
				w.Life.Stop(why)
				return
			}
			if w.Calls.Server.State() != nil {
				w.Calls.refresh()
			}
		case <-ctx.Done():
			return
		}
	}
}

// pause waits for d; it reports false when ctx was done first.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
