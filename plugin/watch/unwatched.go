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

// EndAllUnwatched is EndUnwatched for the sessions in dirs.
func EndAllUnwatched(dirs []string) error {
	return endEach(dirs, func(string, *proctree.ProcessScan) bool { return true })
}

// EndWithoutKeeper is EndUnwatched for those sessions in dirs whose keeper does not run. A running keeper ends the
// commands itself.
func EndWithoutKeeper(dirs []string) error {
	return endEach(dirs, func(dir string, found *proctree.ProcessScan) bool {
		_, id := state.StoreOf(dir)
		return !found.MayHaveKeeper(dir, id)
	})
}

// endEach is EndUnwatched for the sessions in dirs for which selected returns true.
func endEach(dirs []string, selected func(string, *proctree.ProcessScan) bool) error {
	dirs = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return !hasControlSocket(dir) || !lockIsFree(dir) })
	if len(dirs) == 0 {
		return nil // saves a scan of all processes
	}
	found := proctree.ScanProcesses()
	var errs []error
	for _, dir := range dirs {
		if selected(dir, found) {
			errs = append(errs, endIfUnwatched(dir, found))
		}
	}
	return errors.Join(errs...)
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

// lockIsFree reports whether the session's lock is free.
func lockIsFree(dir string) bool {
	lock := state.ExistingLock(state.LockFile(dir))
	defer lock.Close()
	ok, err := lock.TryLock()
	return ok && err == nil
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
	answerLost(s.Record.Store, s.Record.Session)
}
