// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Record is the record of the session that is served. It is changed by the goroutine that follows the
// session, or with Calls.Change.
type Record struct {
	state.Session
	Dir   string // the session's folder
	Store *state.Store

	mu    sync.Mutex // held while the record, or what calls depend on, is changed
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

// restore writes the record anew when it cannot be read.
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

// Proxied is what --proxy and --proxy-shell named.
func (r *Record) Proxied() []state.Command {
	if r.Shell == nil {
		return r.Commands
	}
	return append(slices.Clone(r.Commands), *r.Shell)
}

// commands returns what the session's --proxy flags said.
func (r *Record) commands() []policy.Command {
	var list []policy.Command
	for _, c := range r.Proxied() {
		action, err := policy.ParseAction(c.Action) // an unknown one denies
		if err != nil {
			r.log.Error("policy", "command", c.Name, "error", err)
		}
		cmd := policy.Command{Name: c.Name, Action: action, Explicit: c.Explicit, Path: c.Path, Keep: c.Keep}
		if c.Where != nil {
			cmd.Placed, cmd.Place = true, policy.Place(*c.Where)
		}
		list = append(list, cmd)
	}
	return list
}

// OwnWorkspace is the directory that an agent in a container is given in the state directory,
// with nothing else in it; it is empty where a link leads elsewhere.
func (r *Record) OwnWorkspace() string {
	own := filepath.Join(r.Store.Workspaces(), r.ID)
	if Resolved(own) != own {
		return ""
	}
	return own
}
