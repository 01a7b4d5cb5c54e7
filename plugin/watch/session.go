// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"os"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// What the control API asks of a session.

// Queue implements control.Session.
func (w *Watcher) Queue() *approval.Queue { return w.queue }

// Stop implements control.Session. Whoever asks for it wants it to last.
func (w *Watcher) Stop(grace time.Duration) {
	if err := w.store.NoteStopped(w.id, true); err != nil {
		w.log.Error("stop", "error", err)
	}
	w.stopWithin(grace)
}

// Kill implements control.Session.
func (w *Watcher) Kill(id string) bool { return w.server.Kill(id) }

// Left implements control.Session.
func (w *Watcher) Left() []control.Leftover {
	var all []control.Leftover
	for _, l := range proctree.AllLeft() {
		all = append(all, control.Leftover{Request: l.ID, Args: l.Args, PID: l.PID, Since: l.Since, Count: l.Count})
	}
	return all
}

// EndLeft implements control.Session.
func (w *Watcher) EndLeft(id string) bool { return w.server.EndLeft(id) }

// Jobs implements control.Session.
func (w *Watcher) Jobs() []job.Info {
	var all []job.Info
	for _, j := range w.server.Jobs.All() {
		all = append(all, j.Info())
	}
	return all
}

// EndJob implements control.Session.
func (w *Watcher) EndJob(ctx context.Context, id, sig string) error {
	_, err := w.server.EndJob(ctx, id, sig)
	return err
}

// Record implements control.Session: what is written down, for the rest is another
// goroutine's.
func (w *Watcher) Record() state.Session {
	rec, err := w.store.Load(w.id)
	if err != nil {
		w.log.Error("read session", "error", err)
		return state.Session{ID: w.id}
	}
	return rec
}

// AuditLog implements control.Session.
func (w *Watcher) AuditLog() string { return w.store.Audit() }

// Status implements control.Session. Whoever asks may have found the record damaged.
func (w *Watcher) Status() control.Status {
	w.restoreServed()
	st := control.Status{
		API: control.API, Version: w.Version, State: control.StateRunning,
		Since: w.since, Calls: w.server.Calls(), Running: []control.Running{}, PID: os.Getpid(),
	}
	if r := w.transport.Load(); r != nil {
		st.Carrier, st.CarrierWhy = r.carrier, r.why
	}
	switch {
	case w.keeping.Load():
		st.State = control.StateKeeping
	case w.down.Load():
		st.State = control.StateWaiting
	}
	for _, r := range w.server.Running() {
		st.Running = append(st.Running, control.Running{Request: r.Request, Args: r.Args, Dir: r.Dir, PID: r.PID, Since: r.Since})
	}
	st.Shells, st.Warnings = w.Shells(), w.known()
	return st
}
