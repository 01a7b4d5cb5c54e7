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

// controlAPI answers what the control socket asks of the session. It implements control.Session and
// control.ShellHost.
type controlAPI struct{ w *Watcher }

// Queue implements control.Session.
func (a controlAPI) Queue() *approval.Queue { return a.w.Questions.queue }

// Stop implements control.Session. Whoever asks for it wants it to last.
func (a controlAPI) Stop(grace time.Duration) {
	if err := a.w.Record.Store.NoteStopped(a.w.Record.ID, true); err != nil {
		a.w.log.Error("stop", "error", err)
	}
	a.w.Life.stopWithin(grace)
}

// Kill implements control.Session.
func (a controlAPI) Kill(id string) bool { return a.w.Calls.Server.Kill(id) }

// Left implements control.Session.
func (a controlAPI) Left() []control.Leftover {
	var all []control.Leftover
	for _, l := range proctree.AllLeft() {
		all = append(all, control.Leftover{Request: l.ID, Args: l.Args, PID: l.PID, Since: l.Since, Count: l.Count})
	}
	return all
}

// EndLeft implements control.Session.
func (a controlAPI) EndLeft(id string) bool { return a.w.Calls.Server.EndLeft(id) }

// Jobs implements control.Session.
func (a controlAPI) Jobs() []job.Info {
	var all []job.Info
	for _, j := range a.w.Calls.Server.Jobs.All() {
		all = append(all, j.Info())
	}
	return all
}

// EndJob implements control.Session.
func (a controlAPI) EndJob(ctx context.Context, id, sig string) error {
	_, err := a.w.Calls.Server.EndJob(ctx, id, sig)
	return err
}

// Record implements control.Session: what is written down, for the rest is another
// goroutine's.
func (a controlAPI) Record() state.Session {
	rec, err := a.w.Record.Store.Load(a.w.Record.ID)
	if err != nil {
		a.w.log.Error("read session", "error", err)
		return state.Session{ID: a.w.Record.ID}
	}
	return rec
}

// AuditLog implements control.Session.
func (a controlAPI) AuditLog() string { return a.w.Record.Store.Audit() }

// Status implements control.Session. Whoever asks may have found the record damaged.
func (a controlAPI) Status() control.Status {
	if !a.w.Life.ended() { // after that the session's folder may be removed
		a.w.Record.restore()
	}
	st := control.Status{
		API: control.API, Version: a.w.Version, State: control.StateRunning,
		Since: a.w.since, Calls: a.w.Calls.Server.Calls(), Running: []control.Running{}, PID: os.Getpid(),
	}
	if r := a.w.Carriers.Transport(); r != nil {
		st.Carrier, st.CarrierWhy = r.Carrier, r.Why
	}
	switch {
	case a.w.Life.keeping.Load():
		st.State = control.StateKeeping
	case a.w.Life.Down.Load():
		st.State = control.StateWaiting
	}
	for _, r := range a.w.Calls.Server.Running() {
		st.Running = append(st.Running, control.Running{Request: r.Request, Args: r.Args, Dir: r.Dir, PID: r.PID, Since: r.Since})
	}
	st.Shells, st.Warnings = a.Shells(), a.w.Warnings.list()
	return st
}
