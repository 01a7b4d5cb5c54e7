// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// proxyPlaces returns the directories of requests, and takes their locks.
func (w *Watcher) proxyPlaces() (places []files.RequestDir, err error) {
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	if !w.rec.Proxy.AnyUser {
		w.proxy.note(replaceable(w.rec.Proxy.Base)...)
	}
	size := 1
	if w.rec.Proxy.Flat {
		size = len(w.rec.Commands)
	}
	for commands := range slices.Chunk(w.rec.Names(), size) {
		p, err := w.makeProxyDirLocked(commands)
		if err != nil {
			return places, err
		}
		places = append(places, p)
	}
	return places, nil
}

// makeProxyDirLocked makes the directory of requests for commands, and takes its locks.
func (w *Watcher) makeProxyDirLocked(commands []string) (p files.RequestDir, err error) {
	_, rest := w.rec.Proxy.Dir(commands[0])
	box, err := w.makeRequestDir(rest)
	if err != nil {
		return p, err
	}
	w.ignore()
	key, err := box.Key()
	for _, name := range commands {
		if err == nil {
			err = w.lock(box, key, name)
		}
	}
	if err != nil {
		return p, errors.Join(err, box.Close())
	}
	p = files.RequestDir{Dir: box, Commands: commands, Cwd: func() string { return w.rec.InvokedIn }, Allows: w.requesters()}
	p.Renew = func() (files.RequestDir, error) { return w.renewProxyDir(commands) }
	if w.rec.Proxy.Flat {
		mine := map[string]bool{}
		for _, name := range commands {
			mine[name] = true
		}
		p.Others = func() []string { return w.store.ServedCommands(key, mine) }
	}
	return p, nil
}

// renewProxyDir makes the directory of requests for commands again, after it was deleted or
// another directory got its name. The one above it is the one that was checked at the start.
func (w *Watcher) renewProxyDir(commands []string) (files.RequestDir, error) {
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	if w.proxy.dirs == nil {
		return files.RequestDir{}, errGone
	}
	if !w.proxy.base.Named() {
		return files.RequestDir{}, fmt.Errorf("%s was moved or replaced: start docker hostexec proxy again", w.rec.Proxy.Base)
	}
	defer func(told []string) { w.proxy.notes = told }(w.proxy.notes) // nobody asks for them any more
	p, err := w.makeProxyDirLocked(commands)
	if err != nil {
		return p, err
	}
	if err := w.publishLocked(commands); err != nil {
		return p, errors.Join(err, p.Dir.Close())
	}
	return p, nil
}

// ignore has git ignore the directory .hostexec, so that git clean -fd leaves it alone. Calls
// need no such file, so a failure ends nothing.
func (w *Watcher) ignore() {
	if w.rec.Proxy.Flat {
		return // the person has named a directory
	}
	first, _, _ := strings.Cut(w.rec.Proxy.RelativePath, string(filepath.Separator))
	box, err := w.proxy.base.Open(first)
	if err == nil {
		defer box.Close()
		const name = ".gitignore"
		if _, serr := box.Stat(name); errors.Is(serr, fs.ErrNotExist) {
			err = box.Put(name, []byte("*\n"), 0o644)
		}
	}
	if err != nil {
		w.log.Warn("git does not ignore the directory of requests", "error", err)
	}
}

// lock takes the lock of name in box.
func (w *Watcher) lock(box *dir.SharedDir, key, name string) error {
	if old := w.proxy.locks[name]; old != nil { // of a directory that was deleted
		delete(w.proxy.locks, name)
		if err := old.Close(); err != nil {
			return err
		}
	}
	l, err := w.store.LockProxy(key, name)
	if err != nil {
		return err
	}
	w.proxy.locks[name], w.proxy.dirs[name] = l, box
	if err := w.checkPID(l, box, name); err != nil {
		return err
	}
	return l.WritePID()
}

// checkPID reads the PID file that another process left in box. It fails if that process still serves
// name.
func (w *Watcher) checkPID(l *state.ProxyLock, box *dir.SharedDir, name string) error {
	text, _, err := box.Read(name+pidSuffix, 32)
	pid, perr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || perr != nil || pid <= 0 {
		return nil // there is no PID file, or a caller has written it
	}
	why := "no longer running"
	if pid != l.PreviousPID() && pid != os.Getpid() && state.ProcessAlive(pid) {
		why = "is another process"
		if box.OpenedBy(pid) { // one of another HOSTEXEC_HOME, which has locks of its own
			return &state.ProxyRunning{Command: name, PID: pid}
		}
	}
	w.proxy.note(fmt.Sprintf("removing stale PID file (PID %d %s)", pid, why))
	return nil
}

func (w *Watcher) unlock() error {
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	errs := []error{w.proxy.base.Close()}
	for _, l := range w.proxy.locks {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
