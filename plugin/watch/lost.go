// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

var errKeeper = errors.New("the keeper of the session was killed")

// watchKeeper ends the session when its keeper dies. Otherwise nothing would end the session's commands if this
// process were killed, too.
func (l *Lifetime) watchKeeper(ctx context.Context, keeper io.ReadCloser) {
	stop := context.AfterFunc(ctx, func() { keeper.Close() })
	defer stop()
	if _, err := keeper.Read(make([]byte, 1)); ctx.Err() == nil && errors.Is(err, io.EOF) {
		l.Stop(errKeeper)
	}
}

// EndLost ends the commands of a session whose watcher and keeper were killed together, and answers callers by
// files. dir is the session's directory. A session with a watcher is not changed.
func EndLost(dir string) error {
	if !killed(dir) {
		return nil
	}
	lock := state.ExistingLock(state.LockFile(dir))
	switch ok, err := lock.TryLock(); {
	case errors.Is(err, fs.ErrNotExist): // the directory is being removed
		return nil
	case err != nil || !ok:
		return err
	}
	defer lock.Close()
	if err := endLost(dir); err != nil {
		return err
	}
	store, id := state.Of(dir)
	if rec, err := store.Load(id); err == nil {
		answerLost(store, rec)
	}
	if err := os.Remove(state.ControlSock(dir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// EndUnkept is EndLost for a session whose keeper does not run. A running keeper ends the commands itself.
func EndUnkept(dir string) error {
	if _, id := state.Of(dir); !killed(dir) || !unlocked(dir) || proctree.Kept(dir, id) {
		return nil
	}
	return EndLost(dir)
}

// unlocked reports whether the session's lock is free. This check is cheaper than a scan of all processes.
func unlocked(dir string) bool {
	lock := state.ExistingLock(state.LockFile(dir))
	defer lock.Close()
	ok, err := lock.TryLock()
	return ok && err == nil
}

// killed reports whether the session's watcher has not removed its socket: it was killed, or it still
// serves.
func killed(dir string) bool {
	_, err := os.Lstat(state.ControlSock(dir))
	return err == nil
}

// endLost is EndLost for a caller that has the session's lock.
func endLost(dir string) error {
	_, id := state.Of(dir)
	_, err := proctree.EndLost(id, proctree.DefaultGrace)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end what session %s left running: %w", id, err)
	}
	return nil
}

// endLost ends the commands that an earlier watcher has left running, and answers the callers.
func (s *Session) endLost() {
	if !killed(s.Record.Dir) {
		return
	}
	if err := endLost(s.Record.Dir); err != nil {
		s.Log.Error("resume", "error", err)
	}
	answerLost(s.Record.Store, s.Record.Session)
}
