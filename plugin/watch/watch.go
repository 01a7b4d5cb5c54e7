// SPDX-License-Identifier: Apache-2.0

// Package watch is one session's watcher: carriers in, calls out, for as long as the
// container lives.
//
//	run --Link--> keeper --starts--> watcher <--share/socket-- container
//	                                    |  \--control.sock-- status, stop ...
//	                                  engine (waits for the container to end)
//
// Its one law: the watcher is there before the container's first instruction and gone
// after its last, and when it goes, however it goes, no command of the session stays:
// the keeper above it sees to that. It decides nothing and speaks no protocol itself.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/container"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Watcher serves one session. Set its fields, then Run it.
type Watcher struct {
	Dir     string                 // the session's folder
	Version string                 // ours
	Engine  func() (Engine, error) // connects to the session's engine
	Notify  Notify                 // how a person is told that a request waits

	store    *state.Store
	id       string // the session's
	rec      state.Session
	log      *slog.Logger
	audit    *audit.Log
	server   *call.Server
	queue    *approval.Queue
	notifier notify.Notifier
	rooms    *container.Rooms
	since    time.Time
	down     atomic.Bool // the container does not run at the moment
	stop     context.CancelCauseFunc
	serving  <-chan struct{} // closed when the session ends
	dirs     *dir.Table
	config   atomic.Pointer[config.Config]
	scene    sync.Mutex     // held while the server's scene is changed
	wg       sync.WaitGroup // all that serve started
}

// crowded is how much memory a watcher may have before it collects as hard as it can. A
// thousand calls in flight come near to it, and are not to take more than 24 MiB: what is
// left to the collector's own pace alone is 2 MiB more on a busy machine than on an idle one.
const crowded = 22 << 20

var (
	errStopped = errors.New("the session was stopped")
	errGone    = errors.New("the container is gone")
	errOver    = errors.New("the container has stopped")
)

// Run serves the session until its container ends or the watcher is told to. It reports
// its progress to up, the other end of a Link, which it closes.
func (w *Watcher) Run(ctx context.Context, up *os.File) error {
	link := newUplink(up)
	defer link.close()
	w.store, w.id = state.Of(w.Dir)
	if !link.recorded(ctx) {
		return w.store.Discard(w.id) // run was killed over it
	}
	err := w.run(ctx, link)
	if err != nil {
		link.fail(err) // nobody listens any more unless it is early
	}
	return errors.Join(err, w.store.Discard(w.id))
}

func (w *Watcher) run(ctx context.Context, link *uplink) error {
	if err := dir.CloexecAll(); err != nil {
		return err
	}
	// A watcher is there all day and mostly idle: memory matters more than the time to
	// collect it, of which calls make little.
	debug.SetGCPercent(10)
	debug.SetMemoryLimit(crowded)
	proctree.DefaultSignals()
	if err := proctree.BecomeSubreaper(); err != nil {
		return err
	}
	lock := flock.New(state.LockFile(w.Dir))
	// One that was told to end may be on its last lines.
	patience, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if ok, err := lock.TryLockContext(patience, looking/10); err != nil || !ok {
		return errors.Join(fmt.Errorf("another watcher serves session %s", filepath.Base(w.Dir)), err)
	}
	defer lock.Close()

	logFile, err := os.OpenFile(state.LogFile(w.Dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer logFile.Close()
	w.log = slog.New(slog.NewTextHandler(logFile, nil))

	if w.rec, err = w.store.Load(w.id); err != nil {
		return err
	}
	w.rec.Version = w.Version
	who := audit.Who{Project: filepath.Base(w.rec.InvokedIn), Branch: branch(w.rec.InvokedIn), Session: w.rec.ID}
	c := w.load()
	options := auditing(c.Audit)
	options.Fresh = w.rec.Container == ""
	w.Notify = Notify(c.Notify)
	if w.audit, err = audit.Open(w.store.Audit(), who, options); err != nil {
		return err
	}
	defer w.audit.Close()
	return w.serve(ctx, link)
}

// serve opens the doors, says so, and follows the container until it is over. It returns
// when every call has been answered and everything that calls started has ended.
func (w *Watcher) serve(ctx context.Context, link *uplink) (err error) {
	ctx, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
	w.serving = ctx.Done()
	host, err := executor.NewHost(w.log)
	if err != nil {
		return err
	}
	w.notifier = w.newNotifier(host)
	w.rooms = w.newRooms(host)
	w.queue = w.newQueue()
	w.server = &call.Server{Version: w.Version, Runner: host, Queue: w.queue, Log: w.log, Environ: os.Environ(), Refresh: w.refresh}
	w.server.Shells = &shell.Pool{Runner: host, Dir: filepath.Join(w.Dir, "shells"), Log: w.log}
	w.since = time.Now()

	if w.server.Jobs, err = job.Open(state.JobsDir(w.Dir)); err != nil {
		return errors.Join(err, host.Close())
	}
	calls, err := carrier.Listen(state.ShareDir(w.Dir))
	if err != nil {
		return errors.Join(err, host.Close())
	}
	ctl, err := carrier.Bind(w.Dir, filepath.Base(state.ControlSock(w.Dir)), 0o600)
	if err != nil {
		return errors.Join(fmt.Errorf("listen for control: %w", err), calls.Close(), host.Close())
	}
	var doorman sync.WaitGroup
	// end when their listeners are closed, below.
	w.wg.Go(func() { w.accept(ctx, calls) })
	doorman.Go(func() { w.log.Debug("control ended", "error", control.Serve(ctl, w)) })
	// end with ctx.
	w.wg.Go(func() { w.signals(ctx) })
	w.wg.Go(func() { w.announce(ctx) })
	w.wg.Go(func() { w.review(ctx) })

	w.log.Info("serving", "session", w.rec.ID, "version", w.Version, "commands", w.rec.Names())
	err = w.follow(ctx, link)
	w.stop(err) // calls in flight and jobs end, whole trees of them
	w.log.Info("ending", "reason", err)
	err = calls.Close()
	w.wg.Wait()
	w.rooms.Close()
	err = errors.Join(err, w.server.Shells.Close(), host.Close())
	// Last, for who asks whether the watcher is gone asks whether all of it is.
	err = errors.Join(err, ctl.Close(), os.Remove(state.ControlSock(w.Dir)))
	doorman.Wait()
	if w.dirs != nil {
		w.dirs.Close()
	}
	if errors.Is(context.Cause(ctx), errGone) {
		err = w.store.Remove(w.rec.ID)
	}
	return err
}

// accept serves each call in a goroutine of its own, until ln is closed, and returns
// when all of them, and the jobs that they began, have ended.
func (w *Watcher) accept(ctx context.Context, ln net.Listener) {
	defer w.server.Wait()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors, for one
			w.log.Error("accept", "error", err)
			if !pause(ctx, 50*time.Millisecond) {
				return
			}
			continue
		}
		// ends when the caller hangs up, the command has ended, or ctx is done.
		wg.Go(func() {
			// What was never heard is not written down: a container could fill the disk with it.
			if err := w.server.Serve(ctx, conn); err != nil && !errors.Is(err, call.ErrUnheard) {
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
			if s != syscall.SIGHUP {
				w.stop(fmt.Errorf("%w: %v", errStopped, s))
				return
			}
			if w.server.Scene() != nil {
				w.refresh()
			}
		case <-ctx.Done():
			return
		}
	}
}

// pause waits for d; it reports false when ctx was done first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Queue implements control.Session.
func (w *Watcher) Queue() *approval.Queue { return w.queue }

// Stop implements control.Session.
func (w *Watcher) Stop() { w.stop(errStopped) }

// Kill implements control.Session.
func (w *Watcher) Kill(id string) bool { return w.server.Kill(id) }

// Jobs implements control.Session.
func (w *Watcher) Jobs() []job.Info {
	var all []job.Info
	for _, j := range w.server.Jobs.All() {
		all = append(all, j.Info())
	}
	return all
}

// EndJob implements control.Session.
func (w *Watcher) EndJob(ctx context.Context, id, sig string) error {
	_, err := w.server.EndJob(ctx, id, sig)
	return err
}

// Record implements control.Session: what is written down, for the rest is another
// goroutine's.
func (w *Watcher) Record() state.Session {
	rec, err := w.store.Load(w.id)
	if err != nil {
		w.log.Error("read session", "error", err)
		return state.Session{ID: w.id}
	}
	return rec
}

// AuditLog implements control.Session.
func (w *Watcher) AuditLog() string { return w.store.Audit() }

// Status implements control.Session.
func (w *Watcher) Status() control.Status {
	st := control.Status{
		API: control.API, Version: w.Version, State: control.StateRunning, Carrier: w.rec.Carrier,
		Since: w.since, Calls: w.server.Calls(), Running: []control.Running{}, PID: os.Getpid(),
	}
	if w.down.Load() {
		st.State = control.StateWaiting
	}
	for _, r := range w.server.Running() {
		st.Running = append(st.Running, control.Running(r))
	}
	return st
}
