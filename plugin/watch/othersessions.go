// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// OtherSessions are the other sessions of this user. The container of one may be able to write a program that
// commands of this session run, although this session does not mount it.
type OtherSessions struct {
	record  *Record
	latest  atomic.Pointer[otherWrites] // of the records that were read last
	applied atomic.Pointer[otherWrites] // calls depend on it
}

// otherWrites holds the paths that code of the other sessions could write at one moment.
type otherWrites struct {
	state.WritablePaths
	changed time.Time // of Store.Changed, before the records were read
}

// NewOtherSessions returns all sessions except that of record.
func NewOtherSessions(record *Record) *OtherSessions { return &OtherSessions{record: record} }

// read returns the current otherWrites. It reads the records only if a session has changed since the last call.
func (o *OtherSessions) read() (*otherWrites, error) {
	changed, err := o.record.Store.Changed()
	if err != nil {
		return nil, err
	}
	if known := o.latest.Load(); known != nil && known.changed.Equal(changed) {
		return known, nil
	}
	writes, err := o.record.Store.WritableByOthers(o.record.ID)
	if err != nil {
		return nil, err
	}
	now := &otherWrites{writes, changed}
	o.latest.Store(now)
	return now, nil
}

// AddTo adds to access the paths that containers of other sessions can write. If they cannot be read,
// CheckPrograms returns the error.
func (o *OtherSessions) AddTo(access *mount.Table) {
	if now, err := o.read(); err == nil {
		access.SetOthers(now.Containers)
	}
}

// unchanged reports whether applied corresponds to the current records, or these cannot be read.
func (o *OtherSessions) unchanged() bool {
	changed, err := o.record.Store.Changed()
	known := o.applied.Load()
	return err != nil || known != nil && known.changed.Equal(changed)
}

// applyLocked sets applied to the current records, unless they cannot be read. It returns the paths that code of other
// sessions can write, and whether they have changed.
func (o *OtherSessions) applyLocked() (writes state.WritablePaths, changed bool, err error) {
	old := o.applied.Load()
	now, err := o.read()
	if err != nil {
		if old == nil {
			return writes, false, err
		}
		return old.WritablePaths, false, err
	}
	o.applied.Store(now)
	changed = old == nil || !slices.Equal(old.Containers, now.Containers) || !slices.Equal(old.Sandboxes, now.Sandboxes)
	return now.WritablePaths, changed, nil
}

// Programs lists the proxied programs of other sessions that have a watcher, a readable record, and a container or a
// proxied directory. Sessions whose container is not created yet are still to be checked themselves. An agent on this
// host may start although a container can write its programs: only calls of them are refused.
func (o *OtherSessions) Programs() (all []ProtectedFile, err error) {
	others, err := o.record.Store.Others(o.record.ID)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, rec := range others {
		if _, served := o.record.Store.Served(rec.ID); !served {
			continue
		}
		owner := "session " + rec.ID
		if rec.Container != "" {
			owner = "container " + rec.ContainerName
		} else if rec.Proxy == nil {
			continue
		}
		for _, cmd := range rec.Proxied() {
			if runsHere(cmd) && !listed[cmd.Path] {
				listed[cmd.Path] = true
				all = append(all, ProtectedFile{cmd.Path, fmt.Sprintf("--proxy %s of %s runs", cmd.Name, owner), RefuseWritable, Narrower})
			}
		}
	}
	return all, nil
}

// CheckPrograms returns an error if the container of another session could write a program in files. environ contains
// PATH.
func (o *OtherSessions) CheckPrograms(files []ProtectedFile, environ []string) error {
	others, err := o.read()
	if err != nil || len(others.Containers) == 0 {
		return err
	}
	access := mount.WritableTable(others.Containers)
	path, _ := hostcode.Path(osenv.Get(environ, "PATH"), access)
	for _, k := range files {
		if k.OnMount != RefuseWritable {
			continue
		}
		if at, ok := hostcode.WritableDependency(k.Path, path, access); ok {
			all, _ := o.record.Store.Others(o.record.ID) // only names the writer
			return fmt.Errorf("%s could change %s, which is, or is code of, %s, which %s: %s, or remove that container and then docker hostexec prune",
				writerOf(all, at), at, k.Path, k.Does, k.Instead)
		}
	}
	return nil
}

// WriterOf returns the first session whose container can write file, a path of the host.
func WriterOf(recs []state.Session, file string) (rec state.Session, ok bool) {
	i := slices.IndexFunc(recs, func(rec state.Session) bool {
		return len(rec.Writable) > 0 && mount.WritableTable(rec.Writable).ControlsFilesIn(file)
	})
	if i < 0 {
		return rec, false
	}
	return recs[i], true
}

// writerOf describes the session of WriterOf, for a message.
func writerOf(recs []state.Session, file string) string {
	rec, _ := WriterOf(recs, file)
	if rec.Proxy != nil {
		return "a caller of docker hostexec proxy in " + rec.InvokedIn
	}
	return "container " + rec.ContainerName + " of session " + rec.ID
}

// refreshOthers removes from the environment of commands the programs and variables that code of other sessions can
// write now.
func (c *Calls) refreshOthers() {
	if c.others.unchanged() {
		return
	}
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	old := c.Server.Config()
	if old == nil {
		return
	}
	sc := *old
	if !c.applyOthersLocked(&sc) {
		return
	}
	c.cleanEnvironLocked(&sc)
	c.Server.SetConfig(&sc)
}

// applyOthersLocked adds the paths that code of other sessions can write to sc. It reports whether they have changed.
func (c *Calls) applyOthersLocked(sc *call.SessionConfig) bool {
	writes, changed, err := c.others.applyLocked()
	if err != nil {
		c.log.Error("read the other sessions", "error", err)
	}
	sc.Dirs.SetOthers(writes.Containers)
	sc.OtherSandboxWrites = writes.Sandboxes
	others := mount.WritableTable(nil)
	others.SetOthers(writes.Containers)
	c.warnings.setSessions(c.config.WritableCode(others))
	return changed
}
