// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

// load reads the configuration. What it says of the audit log and of notifications holds
// for as long as the watcher lives; everything else is read again when it changes.
func (w *Watcher) load() *config.Config {
	c := config.Load(config.Source{Store: w.store.Home, Project: w.rec.InvokedIn, Workspace: w.rec.Workspace})
	if old := w.config.Swap(c); old != nil && old.Digest == c.Digest && fmt.Sprint(old.Err) == fmt.Sprint(c.Err) {
		return c // a container that touches its proposal fills no log
	}
	w.log.Info("configuration", "digest", c.Digest)
	for _, text := range c.Warnings {
		w.log.Warn("configuration", "warning", text)
	}
	if c.Err != nil {
		w.log.Error("configuration", "error", c.Err)
	}
	return c
}

// configure returns the policy that a configuration makes of the session's commands, and
// has questions wait, and jobs be kept, as it says.
func (w *Watcher) configure(c *config.Config) *policy.Policy {
	w.queue.Adjust(c.Approval.Timeout, c.Approval.Always, c.Approval.Durable)
	w.server.Jobs.Adjust(job.Limits(c.Jobs))
	w.server.Limits.Adjust(c.Limits.Limits)
	w.server.AdjustRefusals(c.Limits.Refusals)
	p := c.Policy(w.commands())
	if w.rec.Shell != nil {
		p.ShellContainers = w.rec.Shell.In
	}
	return p
}

// auditing is how the configuration wants things written down.
func auditing(c config.Audit) audit.Options {
	o := audit.Options{Redact: c.Redact, PerContainer: c.PerContainer,
		Rotate: max(0, cmp.Or(c.Rotate, audit.DefaultRotate)), Keep: max(0, cmp.Or(c.Keep, audit.DefaultKeep))}
	switch c.Sync {
	case "always":
		o.Sync = audit.SyncAlways
	case "approved":
		o.Sync = audit.SyncApproved
	}
	return o
}

// refresh looks whether the configuration or another session has changed, and has everything decided
// by the new ones from here on.
func (w *Watcher) refresh() {
	w.refreshOthers()
	if c := w.config.Load(); c == nil || !c.Stale() {
		return
	}
	w.stateMu.Lock()
	defer w.stateMu.Unlock()
	if !w.config.Load().Stale() { // somebody else was faster
		return
	}
	sc := *w.server.State()
	sc.Policy = w.configure(w.load())
	w.server.SetState(&sc)
}

// commands returns what the session's --proxy flags said.
func (w *Watcher) commands() []policy.Command {
	var list []policy.Command
	for _, c := range w.rec.Proxied() {
		action, err := policy.ParseAction(c.Action) // an unknown one denies
		if err != nil {
			w.log.Error("policy", "command", c.Name, "error", err)
		}
		cmd := policy.Command{Name: c.Name, Action: action, Explicit: c.Explicit, Path: c.Path, Keep: c.Keep}
		if c.Where != nil {
			cmd.Placed, cmd.Place = true, policy.Place(*c.Where)
		}
		list = append(list, cmd)
	}
	return list
}

// configPoll is how often the configuration is looked at while something waits for a person: it
// may not have to any more.
const configPoll = time.Second

// review has what waits decided again when the configuration changes, until ctx is done.
func (w *Watcher) review(ctx context.Context) {
	for ctx.Err() == nil {
		changed := w.queue.Changed()
		if len(w.queue.Pending()) == 0 {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		if pause(ctx, configPoll) {
			w.refresh()
		}
	}
}
