// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

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

// EndUnwatched ends the commands of a session whose watcher and keeper were killed together, and answers callers by
// files. dir is the session's directory. A session with a watcher is not changed.
func EndUnwatched(dir string) error { return endIfUnwatched(dir, nil) }

// EndAllUnwatched is EndUnwatched for all sessions.
func EndAllUnwatched(store *state.Store) error {
	return endEach(store, func(string, *proctree.ProcessScan) bool { return true })
}

// EndWithoutKeeper is EndAllUnwatched without the sessions whose keeper may still run: it ends the commands itself.
// EndWithoutKeeper returns no error, because prune reports what cannot be ended.
func EndWithoutKeeper(store *state.Store) {
	_ = endEach(store, func(id string, found *proctree.ProcessScan) bool { return !found.MayHaveKeeper(store.Dir(id), id) })
}

// endEach is EndUnwatched for the sessions for whose ids selected returns true.
func endEach(store *state.Store, selected func(id string, found *proctree.ProcessScan) bool) error {
	ids, err := store.IDs()
	ids = slices.DeleteFunc(ids, func(id string) bool {
		return !hasControlSocket(store.Dir(id)) || !state.LockFree(state.LockFile(store.Dir(id)))
	})
	if len(ids) == 0 {
		return err // saves a scan of all processes
	}
	found := proctree.ScanProcesses()
	for _, id := range ids {
		if selected(id, found) {
			err = errors.Join(err, endIfUnwatched(store.Dir(id), found))
		}
	}
	return err
}

// endIfUnwatched is EndUnwatched. If found has no process of the session, it does not search again.
func endIfUnwatched(dir string, found *proctree.ProcessScan) error {
	if !hasControlSocket(dir) {
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
	store, id := state.StoreOf(dir)
	if found.MayHaveProcesses(id) {
		if err := endProcesses(dir); err != nil {
			return err
		}
	}
	if rec, err := store.Load(id); err == nil {
		answerLost(store, rec)
	}
	if err := os.Remove(state.ControlSock(dir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// hasControlSocket reports whether the session's control socket exists. Then its watcher serves, or was killed.
func hasControlSocket(dir string) bool {
	_, err := os.Lstat(state.ControlSock(dir))
	return err == nil
}

// endProcesses ends the commands of the session in dir. The caller has the session's lock.
func endProcesses(dir string) error {
	_, id := state.StoreOf(dir)
	_, err := proctree.EndSessionProcesses(id, proctree.DefaultGrace)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end what session %s left running: %w", id, err)
	}
	return nil
}

// endEarlierCommands ends the commands that an earlier watcher has left running, and answers their callers by files.
func (s *Session) endEarlierCommands() {
	if !hasControlSocket(s.Record.Dir) {
		return
	}
	if err := endProcesses(s.Record.Dir); err != nil {
		s.Log.Error("end what an earlier watcher has left running", "error", err)
	}
	answerLost(s.Record.Store, *s.Record.Session())
}
