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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/http"
	"github.com/docker-hostexec/hostexec/plugin/carrier/relay"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/container"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Watcher serves one session. Set its fields, then Run it.
type Watcher struct {
	Dir     string                            // the session's folder
	Version string                            // ours
	Engine  func() (Engine, error)            // connects to the session's engine
	Another func(host string) (Engine, error) // connects to one that is named as by DOCKER_HOST
	Notify  Notify                            // how a person is told that a request waits
	Keeper  io.ReadCloser                     // ends when the keeper dies

	store          *state.Store
	id             string // the session's
	rec            state.Session
	saved          atomic.Pointer[[]byte] // rec as it was last saved
	log            *slog.Logger
	audit          *audit.Log
	server         *call.Server
	queue          *approval.Queue
	notifier       notify.Notifier
	containers     *container.Containers
	others         engines // for rooms
	since          time.Time
	down           atomic.Bool // the container does not run at the moment
	keeping        atomic.Bool // and is not waited for, but for jobs that are kept
	term           atomic.Pointer[term]
	transport      atomic.Pointer[transport]
	warned         atomic.Pointer[[]string] // of the container that is shown
	warnedOthers   atomic.Pointer[[]string] // of the service's other containers
	relay          *relay.Listener          // nil where no relay has a place
	replicas       replicas
	http           *http.Listener // nil where no calls come over HTTP
	unreachable    string         // why they do not, or ""
	files          bool           // calls come as files in directories of the session's folder
	connected      chan struct{}  // closed when a connection has come to the socket
	stop           context.CancelCauseFunc
	serving        <-chan struct{} // closed when the session ends
	dirs           *mount.Table
	beyond         []mount.Point                 // what other containers of the service can write
	containerDir   atomic.Pointer[string]        // the container's working directory
	agent          *agentEnd                     // nil where the session is no agent's
	proxy          *proxy                        // nil where there is a container
	containerKnown waitGate                      // shut while no container that runs is known and looked at
	othersUnknown  waitGate                      // shut while another container of the service's cannot be looked at
	started        chan struct{}                 // has a value when the container may have started: lookAtStart
	live           atomic.Pointer[liveContainer] // the container, if mounts of this host can appear in it
	left           time.Time                     // when the last one was left
	lease          *flock.Flock                  // held from when none is to come until this process has gone
	config         atomic.Pointer[config.Config]
	stateMu        sync.Mutex     // held while the server's scene is changed
	wg             sync.WaitGroup // all that serve started
}

// settling is how long after its start a watcher begins to save memory. Collections would delay the start.
const settling = time.Second

// saveMemory gives back the memory that only the start needed, and has the runtime collect often: a watcher is there
// all day and mostly idle, so memory matters more than the time to collect it, of which calls make little.
func saveMemory() {
	debug.SetGCPercent(10)
	debug.FreeOSMemory()
}

var (
	errStopped = errors.New("the session was stopped")
	errGone    = errors.New("the container is gone")
	errOver    = errors.New("the container has stopped")
)

// Run serves the session until its container ends or the watcher is told to. It reports
// its progress to up, the other end of a Link, which it closes.
func (w *Watcher) Run(ctx context.Context, up *os.File) error {
	link := newWatcherLink(up)
	defer link.close()
	w.store, w.id = state.Of(w.Dir)
	if !link.recorded(ctx) {
		return w.store.Discard(w.id) // run was killed over it
	}
	err := w.run(ctx, link)
	if err != nil {
		link.fail(err) // nobody listens any more unless it is early
	}
	if w.keeps() || w.rec.Service != nil { // which another one may have by now, under the same id
		return err
	}
	return errors.Join(err, w.store.Discard(w.id))
}

func (w *Watcher) run(ctx context.Context, link *watcherLink) error {
	if err := dir.CloexecAll(); err != nil {
		return err
	}
	debug.SetMemoryLimit(collectAbove)
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

	logFile, err := state.OpenLog(w.Dir)
	if err != nil {
		return err
	}
	defer logFile.Close()
	w.log = slog.New(slog.NewTextHandler(logFile, nil))

	if w.rec, err = w.store.Load(w.id); err != nil {
		return err
	}
	w.remember()
	w.rec.Version = w.Version
	who := audit.SessionInfo{Project: filepath.Base(w.rec.InvokedIn), Branch: branch(w.rec.InvokedIn), Session: w.rec.ID, Agent: w.rec.AgentName()}
	c := w.load()
	options := auditing(c.Audit)
	options.NoRecords = w.rec.Container == ""
	w.Notify = Notify(c.Notify)
	if w.audit, err = audit.Open(w.store.Audit(), who, options); err != nil {
		return err
	}
	defer w.audit.Close()
	return w.serve(ctx, link)
}

// serve opens the doors, says so, and follows the container until it is over. It returns
// when every call has been answered and everything that calls started has ended.
func (w *Watcher) serve(ctx context.Context, link *watcherLink) (err error) {
	ctx, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
	w.serving = ctx.Done()
	if w.rec.Agent != nil {
		w.agent = newAgentEnd(ctx)
		stop := w.stop
		w.stop = func(why error) { stop(w.agent.graceful(why)) }
	}
	host, err := executor.NewHost(w.log)
	if err != nil {
		return err
	}
	host.Session = w.id
	w.endLost()
	if err = w.newServer(host); err != nil {
		return errors.Join(err, host.Close())
	}
	doors, err := w.openListeners()
	if err != nil {
		return errors.Join(err, host.Close())
	}
	ctl, err := socket.Bind(w.Dir, filepath.Base(state.ControlSock(w.Dir)), 0o600)
	if err != nil {
		return errors.Join(fmt.Errorf("listen for control: %w", err), closeAll(doors), host.Close())
	}
	w.begin(ctx)
	if w.rec.Service != nil {
		w.containerKnown.shut() // before the doors are attended to
	}
	var doorman sync.WaitGroup
	// end when their listeners are closed, below.
	w.wg.Go(func() { w.serveListeners(ctx, doors) })
	doorman.Go(func() { w.log.Debug("control ended", "error", control.Serve(ctl, w)) })
	// end with ctx.
	w.wg.Go(func() { w.signals(ctx) })
	w.wg.Go(func() { w.watchKeeper(ctx) })
	w.wg.Go(func() { w.announce(ctx) })
	w.wg.Go(func() { w.review(ctx) })

	w.log.Info("serving", "session", w.rec.ID, "version", w.Version, "commands", w.rec.Names())
	settled := time.AfterFunc(settling, saveMemory)
	defer settled.Stop()
	err = w.runSession(ctx, link)
	if w.rec.Container != "" {
		w.restore() // nobody can when this process has gone
	}
	w.stop(err) // calls in flight and jobs end, whole trees of them
	w.log.Info("ending", "reason", err)
	err = closeAll(doors)
	w.wg.Wait()
	w.decide(transport{carrier.Gone, "the session has ended"})
	w.containers.Close()
	w.server.Shells.Within(w.graceOf(ctx))
	err = errors.Join(err, w.server.Shells.Close())
	host.Grace = w.graceOf(ctx)
	err = errors.Join(err, host.Close())
	// Last, for who asks whether the watcher is gone asks whether all of it is.
	err = errors.Join(err, ctl.Close(), os.Remove(state.ControlSock(w.Dir)))
	doorman.Wait()
	if w.proxy != nil {
		err = errors.Join(err, w.unlock())
	}
	if w.dirs != nil {
		w.dirs.Close()
	}
	// What was kept is asked about when it has ended, and by then its container may be gone.
	if errors.Is(context.Cause(ctx), errGone) && !w.keeps() {
		err = w.store.Remove(w.rec.ID)
	}
	return err
}

// runSession returns why the session ends, when it does.
func (w *Watcher) runSession(ctx context.Context, link *watcherLink) error {
	switch {
	case w.proxy != nil:
		return w.stay(ctx, link)
	case w.rec.Service != nil:
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
	w.server.Wait()
}

// accept serves each call in a goroutine of its own, until ln is closed, and returns
// when all of them have ended.
func (w *Watcher) accept(ctx context.Context, ln net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := ln.Accept()
		if err == nil {
			w.mayHaveStarted()
		}
		if err == nil && (!w.containerKnown.pass(ctx) || !w.othersUnknown.pass(ctx) || !w.lookAgain()) {
			conn.Close()
			return
		}
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
			if err := w.server.Serve(ctx, w.term.Load(), conn); err != nil && !errors.Is(err, call.ErrNoRequest) {
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
			switch why := fmt.Errorf("%w: %v", errStopped, s); {
			case s == syscall.SIGHUP:
			case w.proxy != nil:
				w.askToEnd(why)
				continue
			case w.agent != nil && w.agent.asked.Err() == nil:
				w.stopWithin(usual)
				continue
			default:
				w.stop(why)
				return
			}
			if w.server.State() != nil {
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
