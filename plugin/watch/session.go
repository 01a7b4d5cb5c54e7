// SPDX-License-Identifier: Apache-2.0

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
	"sync"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Session is a session that this process serves. It has a field for each part of the watcher that the modes use.
type Session struct {
	Record   *Record
	Config   *Configuration
	Warnings *Warnings
	Others   *OtherSessions
	Calls    *Calls
	Carriers *Carriers
	Life     *Lifetime
	Engine   func() (Engine, error) // connects to the session's engine
	Log      *slog.Logger

	mode   Mode
	memory memory
	atEnd  []func() error
	wg     sync.WaitGroup // all goroutines that the session's end waits for
}

// Go runs f in a goroutine. The session ends after f has returned.
func (s *Session) Go(f func()) { s.wg.Go(f) }

// AtEnd registers f, to be called when the session has ended and its watcher cannot be reached any more.
func (s *Session) AtEnd(f func() error) { s.atEnd = append(s.atEnd, f) }

// NewSession returns the session with a record. It answers no calls yet.
func NewSession(record *Record, log *slog.Logger) *Session {
	s := &Session{Record: record, Config: NewConfiguration(record, log), Others: NewOtherSessions(record), Log: log}
	s.Warnings = &Warnings{record: record, config: s.Config}
	s.Calls = &Calls{Server: &call.Server{}, record: record, config: s.Config, others: s.Others, warnings: s.Warnings, log: log}
	return s
}

// serve opens the listeners, and follows the source of the calls until it ends. It returns when every call has
// been answered and all processes of the calls have ended.
func (w *Watcher) serve(ctx context.Context, s *Session, log *audit.Log, conn *LauncherConn) (err error) {
	host, err := executor.NewHost(s.Log)
	if err != nil {
		return err
	}
	host.Session = s.Record.ID
	s.endEarlierCommands()
	if err := w.openCalls(s, host, log); err != nil {
		return errors.Join(err, host.Close())
	}
	s.Carriers = &Carriers{record: s.Record, calls: s.Calls, life: s.Life, log: s.Log}
	s.mode = w.Mode(*s.Record.Session())
	listeners, err := s.mode.Listen(s)
	if err != nil {
		return errors.Join(err, host.Close())
	}
	ctl, err := socket.Bind(s.Record.Dir, filepath.Base(state.ControlSock(s.Record.Dir)), 0o600)
	if err != nil {
		return errors.Join(fmt.Errorf("listen for control: %w", err), closeAll(listeners), host.Close())
	}
	s.memory.start()
	defer s.memory.stop()
	s.Life.beginPeriod(ctx)
	var controlServer sync.WaitGroup
	api := controlAPI{s, w.Version, time.Now()}
	// ends when ctl is closed, below.
	controlServer.Go(func() { s.Log.Debug("control ended", "error", control.Serve(ctl, api)) })
	w.start(ctx, s, listeners)

	s.Log.Info("serving", "session", s.Record.ID, "version", w.Version, "commands", s.Record.Session().Names())
	err = s.mode.Follow(ctx, conn)
	if s.Record.Session().Container != "" {
		s.Record.restore() // the last chance: this process exits
	}
	s.Life.Stop(err) // ends the process trees of calls and jobs
	s.Log.Info("ending", "reason", err)
	s.reportRemoval(context.Cause(ctx))
	err = s.end(ctx, listeners, host)
	// This comes last: when a client finds no watcher, all parts of the watcher must have ended.
	err = errors.Join(err, ctl.Close(), dir.RemoveFile(state.ControlSock(s.Record.Dir)))
	controlServer.Wait()
	return s.finish(ctx, err)
}

// start starts the goroutines of a session, which s.Go counts.
func (w *Watcher) start(ctx context.Context, s *Session, listeners []net.Listener) {
	// ends when listeners are closed.
	s.Go(func() { s.serveListeners(ctx, listeners) })
	s.handleSignals(ctx)
	// end with ctx.
	s.Go(func() { s.Life.watchKeeper(ctx, w.Keeper) })
	s.Go(func() { s.watchRemoval(ctx) })
	s.Go(func() { s.Calls.Questions.announce(ctx) })
	s.Go(func() { s.Calls.review(ctx) })
}

// finish releases what an ended session still holds. If its container is gone, it removes the session's directory.
func (s *Session) finish(ctx context.Context, err error) error {
	for _, f := range s.atEnd {
		err = errors.Join(err, f())
	}
	if s.Calls.dirs != nil {
		s.Calls.dirs.Close()
	}
	// After kept jobs the record stays, although the container may have gone: users look for the results of jobs.
	if errors.Is(context.Cause(ctx), ErrGone) && !s.Life.hasKeptJobs() {
		err = errors.Join(err, s.Record.Store.Remove(s.Record.ID))
	}
	return err
}

// end returns when calls, shells, and everything that they started have ended.
func (s *Session) end(ctx context.Context, listeners []net.Listener, host *executor.Host) error {
	err := closeAll(listeners)
	s.wg.Wait()
	s.Carriers.Decide(carrier.Gone, "the session has ended")
	s.Calls.Containers.containers.Close()
	s.Calls.Server.Shells.SetGrace(s.Life.graceOf(ctx))
	err = errors.Join(err, s.Calls.Server.Shells.Close())
	host.Grace = s.Life.graceOf(ctx)
	return errors.Join(err, host.Close())
}

func closeAll(listeners []net.Listener) (err error) {
	for _, ln := range listeners {
		err = errors.Join(err, ln.Close())
	}
	return err
}

// serveListeners serves the connections of listeners until they are closed. It returns when all calls, and the
// jobs that they began, have ended.
func (s *Session) serveListeners(ctx context.Context, listeners []net.Listener) {
	var wg sync.WaitGroup
	for _, ln := range listeners {
		// ends when ln is closed.
		wg.Go(func() { s.accept(ctx, ln) })
	}
	wg.Wait()
	s.Calls.Server.Wait()
}

// accept serves each call in its own goroutine until ln is closed. It returns when all calls have ended.
func (s *Session) accept(ctx context.Context, ln net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := ln.Accept()
		if err == nil && !s.mode.Admit(ctx) {
			conn.Close()
			return
		}
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors, for one
			s.Log.Error("accept a connection", "error", err)
			if !Pause(ctx, 50*time.Millisecond) {
				return
			}
			continue
		}
		// ends when the caller hangs up, the command has ended, or ctx is done.
		wg.Go(func() {
			// Connections without a request are not logged: a container could fill the disk with them.
			if err := s.Calls.Server.Serve(ctx, s.Life.period.Load(), conn); err != nil && !errors.Is(err, call.ErrNoRequest) {
				s.Log.Warn("serve a call", "error", err)
			}
			s.memory.callEnded()
		})
	}
}

// handleSignals ends the session on TERM and INT. On HUP it reads the configuration, which otherwise the next call
// does. That may take long. So HUP has a channel and a goroutine of its own: it delays no TERM, and displaces none.
func (s *Session) handleSignals(ctx context.Context) {
	ends, reloads := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(reloads, syscall.SIGHUP)
	// end with ctx.
	s.Go(func() {
		defer signal.Stop(ends)
		s.endOn(ctx, ends)
	})
	s.Go(func() {
		defer signal.Stop(reloads)
		s.reloadOn(ctx, reloads)
	})
}

func (s *Session) endOn(ctx context.Context, ends <-chan os.Signal) {
	for {
		select {
		case sig := <-ends:
			switch why := fmt.Errorf("%w: %v", ErrStopped, sig); {
			case s.Life.Interrupt != nil:
				s.Life.Interrupt(why)
			case s.Life.Agent != nil && s.Life.Agent.Asked.Err() == nil:
				s.Life.stopWithin(defaultGrace)
			default:
				s.Life.Stop(why)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Session) reloadOn(ctx context.Context, reloads <-chan os.Signal) {
	for {
		select {
		case <-reloads:
			if s.Calls.Server.Config() != nil {
				s.Calls.refresh()
			}
		case <-ctx.Done():
			return
		}
	}
}
