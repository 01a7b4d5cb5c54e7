// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// The container of another session of this user may be able to write a program that commands of this
// session run, although this session does not mount it. The records of all sessions tell.

// otherSessions is what the records of the other sessions said at one moment.
type otherSessions struct {
	changed  time.Time // of Store.Changed, before the records were read
	recs     []state.Session
	writable []string // what their containers can write
}

// readOthers returns the other sessions. It reads their records only if a session has changed since.
func (w *Watcher) readOthers() (*otherSessions, error) {
	changed, err := w.store.Changed()
	if err != nil {
		return nil, err
	}
	if known := w.readSessions.Load(); known != nil && known.changed.Equal(changed) {
		return known, nil
	}
	recs, err := w.store.Others(w.id)
	if err != nil {
		return nil, err
	}
	now := &otherSessions{changed, recs, state.Written(recs)}
	w.readSessions.Store(now)
	return now, nil
}

// refreshOthers has commands run without what containers of other sessions supply by now.
func (w *Watcher) refreshOthers() {
	changed, err := w.store.Changed()
	if known := w.heededSessions.Load(); err != nil || known != nil && known.changed.Equal(changed) {
		return
	}
	w.stateMu.Lock()
	defer w.stateMu.Unlock()
	old := w.server.State()
	if old == nil || !w.heedOthersLocked(old.Dirs) {
		return
	}
	sc := *old
	w.environmentLocked(&sc)
	w.server.SetState(&sc)
}

// heedOthersLocked has dirs know what containers of other sessions can write. It reports whether
// that is news.
func (w *Watcher) heedOthersLocked(dirs *mount.Table) bool {
	was := w.heededSessions.Load()
	now, err := w.readOthers()
	if err != nil {
		w.log.Error("read the other sessions", "error", err)
		if now = was; now == nil {
			return false
		}
	}
	w.heededSessions.Store(now)
	dirs.SetOthers(now.writable)
	alone := mount.Written(nil)
	alone.SetOthers(now.writable)
	var notes []string
	for _, text := range w.supplied(alone) {
		notes = append(notes, printable(text))
	}
	w.warnedSessions.Store(&notes)
	return was == nil || !slices.Equal(was.writable, now.writable)
}

// environmentLocked has calls of sc run without what containers supply.
func (w *Watcher) environmentLocked(sc *call.SessionState) {
	env, found := executor.Environ(w.environ(), sc.Dirs)
	for _, f := range found {
		w.log.Warn("environment of commands", "finding", f.String())
	}
	path, _ := executor.Path(osenv.Get(w.environ(), "PATH"), sc.Dirs)
	_ = os.Setenv("PATH", path) // by which the engine's client finds ssh, again and again; it is a valid name
	sc.Environ = env
	sc.Find = func(name string) (string, bool) { return osenv.LookPath(name, path) }
}

// programsOfOthers lists the programs that sessions with a watcher proxy, but for this session. A session
// counts when its own container has been looked at: until then it is the one that is refused.
func (w *Watcher) programsOfOthers() (all []protected, err error) {
	others, err := w.readOthers()
	if err != nil {
		return nil, err
	}
	for _, rec := range others.recs {
		if _, served := w.store.Served(rec.ID); rec.Container == "" || !served {
			continue
		}
		for _, cmd := range rec.Proxied() {
			if onThisHost(cmd) {
				all = append(all, protected{cmd.Path, fmt.Sprintf("--proxy %s of container %s runs", cmd.Name, rec.ContainerName), refuseWritable, narrower})
			}
		}
	}
	return all, nil
}

// undisturbed refuses a session of which the container of another one could write a program.
func (w *Watcher) undisturbed() error {
	others, err := w.readOthers()
	if err != nil || len(others.writable) == 0 {
		return err
	}
	owner := mount.Written(others.writable)
	path, _ := executor.Path(osenv.Get(w.environ(), "PATH"), owner)
	for _, k := range w.protected() {
		if k.against != refuseWritable {
			continue
		}
		if at, ok := executor.WritableDependency(k.path, path, owner); ok {
			return fmt.Errorf("%s could change %s, which is, or is code of, %s, which %s: %s, or remove that container and then docker hostexec prune",
				writerOf(others.recs, at), at, k.path, k.does, k.instead)
		}
	}
	return nil
}

// WriterOf returns the first session whose container can write the host's file.
func WriterOf(recs []state.Session, file string) (rec state.Session, ok bool) {
	i := slices.IndexFunc(recs, func(rec state.Session) bool {
		return len(rec.Writable) > 0 && mount.Written(rec.Writable).ControlsFilesIn(file)
	})
	if i < 0 {
		return rec, false
	}
	return recs[i], true
}

// writerOf names the session of WriterOf for people.
func writerOf(recs []state.Session, file string) string {
	rec, _ := WriterOf(recs, file)
	if rec.Proxy != nil {
		return "whoever makes requests of docker hostexec proxy in " + rec.InvokedIn
	}
	return "container " + rec.ContainerName + " of session " + rec.ID
}
