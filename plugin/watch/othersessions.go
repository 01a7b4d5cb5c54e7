// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// OtherSessions are the other sessions of this user. The container of one may be able to write a program that commands
// of this session run, although this session does not mount it. The records of all sessions tell.
type OtherSessions struct {
	record  *Record
	latest  atomic.Pointer[sessionRecords] // as they were read last
	applied atomic.Pointer[sessionRecords] // those that calls depend on
}

// sessionRecords is what the records of the other sessions said at one moment.
type sessionRecords struct {
	changed  time.Time // of Store.Changed, before the records were read
	all      []state.Session
	writable []string // what their containers can write
}

// NewOtherSessions returns all sessions but that of record.
func NewOtherSessions(record *Record) *OtherSessions { return &OtherSessions{record: record} }

// read returns the records. It reads them only if a session has changed since.
func (o *OtherSessions) read() (*sessionRecords, error) {
	changed, err := o.record.Store.Changed()
	if err != nil {
		return nil, err
	}
	if known := o.latest.Load(); known != nil && known.changed.Equal(changed) {
		return known, nil
	}
	all, err := o.record.Store.Others(o.record.ID)
	if err != nil {
		return nil, err
	}
	now := &sessionRecords{changed, all, state.Written(all)}
	o.latest.Store(now)
	return now, nil
}

// AddTo has owner know what containers of other sessions can write. If that cannot be read, CheckPrograms returns the
// error.
func (o *OtherSessions) AddTo(owner *mount.Table) {
	if now, err := o.read(); err == nil {
		owner.SetOthers(now.writable)
	}
}

// unchanged reports whether calls depend on the records of now, or nobody knows those.
func (o *OtherSessions) unchanged() bool {
	changed, err := o.record.Store.Changed()
	known := o.applied.Load()
	return err != nil || known != nil && known.changed.Equal(changed)
}

// applyLocked returns what containers of other sessions can write, on which calls depend from here on, and whether
// that is news. After an error it is what calls depend on already.
func (o *OtherSessions) applyLocked() (writable []string, news bool, err error) {
	was := o.applied.Load()
	now, err := o.read()
	if err != nil {
		if was == nil {
			return nil, false, err
		}
		return was.writable, false, err
	}
	o.applied.Store(now)
	return now.writable, was == nil || !slices.Equal(was.writable, now.writable), nil
}

// Programs lists the programs that sessions with a watcher proxy, but for this session. A session counts when its own
// container has been looked at: until then it is the one that is refused.
func (o *OtherSessions) Programs() (all []ProtectedFile, err error) {
	others, err := o.read()
	if err != nil {
		return nil, err
	}
	for _, rec := range others.all {
		if _, served := o.record.Store.Served(rec.ID); rec.Container == "" || !served {
			continue
		}
		for _, cmd := range rec.Proxied() {
			if runsHere(cmd) {
				all = append(all, ProtectedFile{cmd.Path, fmt.Sprintf("--proxy %s of container %s runs", cmd.Name, rec.ContainerName), RefuseWritable, Narrower})
			}
		}
	}
	return all, nil
}

// CheckPrograms returns an error if the container of another session could write a program among files. environ has the
// PATH.
func (o *OtherSessions) CheckPrograms(files []ProtectedFile, environ []string) error {
	others, err := o.read()
	if err != nil || len(others.writable) == 0 {
		return err
	}
	owner := mount.Written(others.writable)
	path, _ := executor.Path(osenv.Get(environ, "PATH"), owner)
	for _, k := range files {
		if k.Against != RefuseWritable {
			continue
		}
		if at, ok := executor.WritableDependency(k.Path, path, owner); ok {
			return fmt.Errorf("%s could change %s, which is, or is code of, %s, which %s: %s, or remove that container and then docker hostexec prune",
				writerOf(others.all, at), at, k.Path, k.Does, k.Instead)
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

// refreshOthers has commands run without what containers of other sessions supply by now.
func (c *Calls) refreshOthers() {
	if c.others.unchanged() {
		return
	}
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	old := c.Server.State()
	if old == nil || !c.applyOthersLocked(old.Dirs) {
		return
	}
	sc := *old
	c.cleanEnvironLocked(&sc)
	c.Server.SetState(&sc)
}

// applyOthersLocked has dirs know what containers of other sessions can write. It reports whether that is news.
func (c *Calls) applyOthersLocked(dirs *mount.Table) bool {
	writable, news, err := c.others.applyLocked()
	if err != nil {
		c.log.Error("read the other sessions", "error", err)
	}
	dirs.SetOthers(writable)
	alone := mount.Written(nil)
	alone.SetOthers(writable)
	c.warnings.setSessions(c.config.Supplied(alone))
	return news
}
