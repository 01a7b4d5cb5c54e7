// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"encoding/json"
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

// Record is the record of the served session. Only the goroutine that follows the session changes it, or a holder of
// mu, as in Change.
type Record struct {
	state.Session
	Dir   string // the session's directory
	Store *state.Store

	mu    sync.Mutex // held while the record, or the inputs of calls, are changed
	log   *slog.Logger
	saved atomic.Pointer[[]byte] // Session as it was last saved
}

// NewRecord returns the record of a session that store has.
func NewRecord(store *state.Store, rec state.Session, log *slog.Logger) *Record {
	r := &Record{Session: rec, Dir: store.Dir(rec.ID), Store: store, log: log}
	r.remember()
	return r
}

// Change runs f, which changes the record, while nothing else changes it.
func (r *Record) Change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// Save writes the session's record.
func (r *Record) Save() error {
	r.remember()
	return r.Store.Save(&r.Session)
}

// remember keeps the record for restore, which runs in another goroutine.
func (r *Record) remember() {
	if b, err := json.Marshal(r.Session); err == nil {
		r.saved.Store(&b)
	}
}

// restore writes the record again if its file cannot be read.
func (r *Record) restore() {
	if _, err := r.Store.Load(r.ID); err == nil {
		return
	}
	var rec state.Session
	err := json.Unmarshal(*r.saved.Load(), &rec)
	if err == nil {
		err = r.Store.Save(&rec)
	}
	r.log.Warn("the session's record was damaged", "rewritten", err == nil, "error", err)
}

// Adapt replaces programs that were found in directories of PATH that containers can write. It takes programs in the
// rest of PATH instead. access has the paths that containers can write, and environ contains PATH. Adapt returns
// warnings for a person.
func (r *Record) Adapt(access *mount.Table, environ []string) (notes []string) {
	path, _ := hostcode.Path(osenv.Get(environ, "PATH"), access)
	all := slices.Clone(r.Proxied()) // calls of an earlier container may still be decided by the old ones
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
	r.Change(func() {
		n := len(r.Commands)
		r.Commands = all[:n:n]
		if r.Shell != nil {
			r.Shell = &all[n]
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
