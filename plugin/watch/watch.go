// SPDX-License-Identifier: Apache-2.0

// Package watch is the core of a watcher: it serves the calls of one session, and answers its control socket.
//
//	launcher <--------Conn-------------> watcher <--share/socket-- container
//	 \--starts--> keeper --starts--------/  |  \--control.sock-- status, stop ...
//	                                        engine (waits for the container to end)
//
// A Mode decides how calls arrive, when they may be answered, and when the session ends. The modes are packages below
// this one, which import it: container, process and directory.
//
// The watcher is ready before the first instruction of a container that run or start starts. It ends after the
// container, or after the last kept job. If it is killed, its parent, the keeper, ends the session's commands.
//
// Requests are decided in exec/call. The only protocol of this package is that of Conn, between a watcher and its
// launcher, the process that starts or resumes the session.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Watcher serves one session. Set its fields, then Run it.
type Watcher struct {
	Dir       string                            // the session's directory
	Version   string                            // of this program
	Engine    func() (Engine, error)            // connects to the session's engine
	ConnectTo func(host string) (Engine, error) // connects to an engine by its DOCKER_HOST value
	Keeper    io.ReadCloser                     // ends when the keeper dies
	Mode      func(state.Session) Mode          // chooses the mode that serves the session
}

// Mode implements the differences between kinds of sessions: the source of the calls, and the end of the
// session.
type Mode interface {
	// Listen opens the listeners for the calls of s.
	Listen(s *Session) ([]net.Listener, error)
	// Admit waits until calls may be answered. It returns false if the session ends, or ctx is done.
	Admit(ctx context.Context) bool
	// Follow reports to the launcher that the session is ready, and returns when it ends, with the reason.
	Follow(ctx context.Context, l *LauncherConn) error
}

// The reasons why a session ends.
var (
	ErrStopped = errors.New("the session was stopped")
	ErrGone    = errors.New("the container is gone") // no file of the session is needed any more
	ErrExited  = errors.New("the container has stopped")
)

// Run serves the session until its container ends or a user stops it. It reports its progress to launcher, the other
// end of a Conn, and closes launcher.
func (w *Watcher) Run(ctx context.Context, launcher *os.File) error {
	conn := newLauncherConn(launcher)
	defer conn.close()
	store, id := state.StoreOf(w.Dir)
	if !conn.recorded(ctx) {
		return store.Discard(id) // the launcher was killed before it has written the record
	}
	lock, err := w.lock(ctx)
	if err != nil {
		conn.Fail(err)
		return err // the directory is another watcher's
	}
	defer lock.Close()
	s, err := w.run(ctx, conn)
	if err != nil {
		conn.Fail(err) // the launcher listens only at the start
	}
	if s != nil && (s.Life.hasKeptJobs() || s.Record.Session().DevContainer != nil) { // it may be resumed
		return err
	}
	return errors.Join(err, store.Discard(id))
}

// lock takes the session's lock, which the caller closes. It is held until nothing else happens to the session's
// directory.
func (w *Watcher) lock(ctx context.Context) (*flock.Flock, error) {
	lock := state.NewLock(state.LockFile(w.Dir))
	// A watcher that ends may still write its last log lines.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, Poll/10); err != nil {
		return nil, fmt.Errorf("lock session %s, which another watcher may serve: %w", filepath.Base(w.Dir), errors.Join(err, lock.Close()))
	}
	return lock, nil
}

// becomeWatcher prepares this process: commands inherit no descriptors and no signal dispositions from it, and
// their orphans become its children.
func becomeWatcher() error {
	if err := dir.CloexecAll(); err != nil {
		return err
	}
	debug.SetMemoryLimit(collectAbove)
	proctree.DefaultSignals()
	return proctree.BecomeSubreaper()
}

// run returns the session that it has served, or nil if there is no record of it.
func (w *Watcher) run(ctx context.Context, conn *LauncherConn) (*Session, error) {
	if err := becomeWatcher(); err != nil {
		return nil, err
	}
	logFile, err := state.OpenLog(w.Dir)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	log := slog.New(slog.NewTextHandler(logFile, nil))

	store, id := state.StoreOf(w.Dir)
	rec, err := store.Load(id)
	if err != nil {
		return nil, err
	}
	rec.Version = w.Version
	record := NewRecord(store, rec, log)
	life, ctx := newLifetime(ctx, record, log)
	defer life.Stop(nil)
	s := NewSession(record, log)
	s.Engine, s.Life = w.Engine, life
	life.calls = s.Calls
	info := audit.SessionInfo{Project: filepath.Base(rec.InvokedIn), Branch: branch(rec.InvokedIn), Session: rec.ID, Agent: rec.AgentName()}
	options := auditOptions(s.Config.Load().Audit)
	options.NoRecords = rec.Container == ""
	entries, err := audit.Open(store.Audit(), info, options)
	if err != nil {
		return s, err
	}
	defer entries.Close()
	err = w.serve(ctx, s, entries, conn)
	switch why := context.Cause(ctx); {
	case errors.Is(why, errKeeper), errors.Is(why, errRemoved):
		err = errors.Join(why, err)
	case err == nil:
		conn.Ended()
	}
	return s, err
}

// Pause waits for d. It returns false if ctx is done first.
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
