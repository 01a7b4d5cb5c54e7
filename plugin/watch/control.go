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

// controlAPI is the control.Session and control.ShellHost of a watcher: it answers the requests of the control socket.
type controlAPI struct {
	s       *Session
	version string // of the watcher
	since   time.Time
}

func (a controlAPI) Queue() *approval.Queue      { return a.s.Calls.Questions.queue }
func (a controlAPI) Kill(id string) bool         { return a.s.Calls.Server.Kill(id) }
func (a controlAPI) EndLeftovers(id string) bool { return a.s.Calls.Server.EndLeftovers(id) }
func (a controlAPI) AuditLog() string            { return a.s.Record.Store.Audit() }
func (a controlAPI) AgentRules() string          { return a.s.Calls.AgentRules() }

// Stop also records that a user has stopped the session, which then stays stopped.
func (a controlAPI) Stop(grace time.Duration) {
	if err := a.s.Record.Store.NoteStopped(a.s.Record.ID, true); err != nil {
		a.s.Log.Error("record that a user has stopped the session", "error", err)
	}
	a.s.Life.stopWithin(grace)
}

func (a controlAPI) Leftovers() []control.Leftover {
	var all []control.Leftover
	for _, l := range proctree.AllLeftovers() {
		all = append(all, control.Leftover{Request: l.ID, Args: l.Args, PID: l.PID, Since: l.Since, Count: l.Count})
	}
	return all
}

func (a controlAPI) Jobs() []job.Info {
	var all []job.Info
	for _, j := range a.s.Calls.Server.Jobs.All() {
		all = append(all, j.Info())
	}
	return all
}

func (a controlAPI) EndJob(ctx context.Context, id, sig string) error {
	_, err := a.s.Calls.Server.EndJob(ctx, id, sig)
	return err
}

// Record returns the stored record.
func (a controlAPI) Record() state.Session {
	rec, err := a.s.Record.Store.Load(a.s.Record.ID)
	if err != nil {
		a.s.Log.Error("read session", "error", err)
		return state.Session{ID: a.s.Record.ID}
	}
	return rec
}

// Status also restores a damaged record, because the client may have failed to read it.
func (a controlAPI) Status() control.Status {
	if !a.s.Life.ended() { // after that the session's directory may be removed
		a.s.Record.restore()
	}
	st := control.Status{
		API: control.APIVersion, Version: a.version, State: control.StateRunning,
		Since: a.since, Calls: a.s.Calls.Server.Calls(), Running: []control.Running{}, PID: os.Getpid(),
	}
	if r := a.s.Carriers.Choice(); r != nil {
		st.Carrier, st.CarrierWhy = r.Carrier, r.Why
	}
	switch {
	case a.s.Life.keeping.Load():
		st.State = control.StateKeeping
	case a.s.Life.Down.Load():
		st.State = control.StateWaiting
	}
	for _, r := range a.s.Calls.Server.Running() {
		st.Running = append(st.Running, control.Running{Request: r.Request, Args: r.Args, Dir: r.Dir, PID: r.PID, Since: r.Since})
	}
	st.Shells, st.Warnings = a.Shells(), a.s.Warnings.list()
	return st
}
