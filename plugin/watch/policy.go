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

// auditOptions returns the options of the audit log that the configuration sets.
func auditOptions(c config.Audit) audit.Options {
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

// configure returns the policy that a configuration gives the session's commands. It also applies the settings
// of approval and of kept jobs.
func (c *Calls) configure(f *config.Config) *policy.Policy {
	c.Questions.queue.Adjust(f.Approval.Timeout, f.Approval.WaitAlways, f.Approval.Durable)
	// A broken configuration can lack its limits: the last ones stay, and no output of jobs is removed.
	if f.Err == nil {
		c.Server.Jobs.Adjust(job.Limits(f.Jobs))
	}
	if f.Err == nil || c.Server.Config() == nil {
		c.Server.Limits.Adjust(f.Limits.Limits)
		c.Server.AdjustRefusals(f.Limits.Refusals)
	}
	p := f.SessionPolicy(c.record.Session())
	c.noteSandboxWritesLocked(p)
	return p
}

// noteSandboxWritesLocked saves the paths that p lets commands in sandboxes write, for other sessions.
func (c *Calls) noteSandboxWritesLocked(p *policy.Policy) {
	writes := p.SandboxWrites()
	if slices.Equal(writes, c.record.Session().SandboxWrites) {
		return
	}
	c.record.changeLocked(func(rec *state.Session) { rec.SandboxWrites = writes })
	if err := c.record.saveLocked(); err != nil {
		c.log.Error("write down what sandboxes can write", "error", err)
	}
}

// refresh applies changes of the configuration and of other sessions to all later decisions.
func (c *Calls) refresh() {
	c.refreshOthers()
	if f := c.config.Current(); f == nil || !f.Stale() {
		return
	}
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	if !c.config.Current().Stale() { // another goroutine has applied it
		return
	}
	sc := *c.Server.Config()
	sc.Policy = c.configure(c.config.Load())
	c.Server.SetConfig(&sc)
	c.writeAgentsLocked()
}

// configPoll is the interval at which the configuration is checked while requests wait for a person: a new
// configuration may decide them.
const configPoll = time.Second

// review decides waiting requests again when the configuration changes, until ctx is done.
func (c *Calls) review(ctx context.Context) {
	for ctx.Err() == nil {
		changed := c.Questions.queue.Changed()
		if len(c.Questions.queue.Pending()) == 0 {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		if Pause(ctx, configPoll) {
			c.refresh()
		}
	}
}
