// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Record is the record of the served session. Several goroutines read and change it.
type Record struct {
	ID    string
	Dir   string // the session's directory
	Store *state.Store

	mu      sync.Mutex // held while the record, its file, or the inputs of calls are changed
	log     *slog.Logger
	session atomic.Pointer[state.Session] // a change replaces it, so that readers need no lock
}

// NewRecord returns the record of a session that store has.
func NewRecord(store *state.Store, rec state.Session, log *slog.Logger) *Record {
	r := &Record{ID: rec.ID, Dir: store.Dir(rec.ID), Store: store, log: log}
	r.session.Store(&rec)
	return r
}

// Session returns the record as it is now. Nothing may change the result, or what it refers to.
func (r *Record) Session() *state.Session { return r.session.Load() }

// Change runs f, which changes a copy of the record, while nothing else changes the record. The copy becomes the record,
// which Save writes. f must replace slices and pointers: the record of before refers to the same values.
func (r *Record) Change(f func(rec *state.Session)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changeLocked(f)
}

func (r *Record) changeLocked(f func(rec *state.Session)) {
	rec := *r.session.Load()
	f(&rec)
	r.session.Store(&rec)
}

// Save writes the session's record.
func (r *Record) Save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.saveLocked()
}

func (r *Record) saveLocked() error { return r.Store.Save(r.Session()) }

// restore writes the record again if its file cannot be read.
func (r *Record) restore() {
	if _, err := r.Store.Load(r.ID); err == nil {
		return
	}
	err := r.Save()
	r.log.Warn("the session's record was damaged", "rewritten", err == nil, "error", err)
}

// Adapt replaces programs that were found in directories of PATH that containers can write. It takes programs in the
// rest of PATH instead. access has the paths that containers can write, and environ contains PATH. Adapt returns
// warnings for a person.
func (r *Record) Adapt(access *mount.Table, environ []string) (notes []string) {
	path, _ := hostcode.Path(osenv.Get(environ, "PATH"), access)
	all := slices.Clone(r.Session().Proxied()) // calls of an earlier container may still be decided by the old ones
	for i := range all {
		cmd := &all[i]
		if !cmd.Found || !access.ControlsFilesIn(filepath.Dir(cmd.Path)) {
			continue
		}
		// Without another program, the session is refused.
		if other, ok := osenv.LookPath(filepath.Base(cmd.Path), path); ok {
			notes = append(notes, fmt.Sprintf("--proxy %s runs %s, and not %s, which %s can write", cmd.Name, other, cmd.Path, access.Writer(filepath.Dir(cmd.Path))))
			cmd.Path = other
		}
	}
	r.Change(func(rec *state.Session) {
		n := len(rec.Commands)
		rec.Commands = all[:n:n]
		if rec.Shell != nil {
			rec.Shell = &all[n]
		}
	})
	return notes
}

// OwnWorkspace returns the workspace in the state directory that hostexec has created for an agent in a container. It
// returns "" if a part of the path is a link.
func (r *Record) OwnWorkspace() string {
	own := filepath.Join(r.Store.Workspaces(), r.ID)
	if mount.Resolved(own) != own {
		return ""
	}
	return own
}
