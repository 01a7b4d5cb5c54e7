// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// configure returns the policy that a configuration makes of the session's commands, and
// has questions wait, and jobs be kept, as it says.
func (w *Watcher) configure(c *config.Config) *policy.Policy {
	w.Questions.queue.Adjust(c.Approval.Timeout, c.Approval.Always, c.Approval.Durable)
	w.server.Jobs.Adjust(job.Limits(c.Jobs))
	w.server.Limits.Adjust(c.Limits.Limits)
	w.server.AdjustRefusals(c.Limits.Refusals)
	p := c.Policy(w.Record.commands())
	if w.Record.Shell != nil {
		p.ShellContainers = w.Record.Shell.In
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

// refresh looks whether the configuration has changed, and has everything decided by the
// new one from here on.
func (w *Watcher) refresh() {
	if c := w.Config.Current(); c == nil || !c.Stale() {
		return
	}
	w.stateMu.Lock()
	defer w.stateMu.Unlock()
	if !w.Config.Current().Stale() { // somebody else was faster
		return
	}
	sc := *w.server.State()
	sc.Policy = w.configure(w.Config.Load())
	w.server.SetState(&sc)
}

// proxied is what --proxy and --proxy-shell named.
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

// configPoll is how often the configuration is looked at while something waits for a person: it
// may not have to any more.
const configPoll = time.Second

// review has what waits decided again when the configuration changes, until ctx is done.
func (w *Watcher) review(ctx context.Context) {
	for ctx.Err() == nil {
		changed := w.Questions.queue.Changed()
		if len(w.Questions.queue.Pending()) == 0 {
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
