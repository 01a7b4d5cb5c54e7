// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// merge merges d into c. Values in d replace earlier values.
func (c *Config) merge(d *document) {
	for _, w := range d.warnings {
		c.Warnings = append(c.Warnings, w.String())
	}
	c.warnings = append(c.warnings, d.warnings...)
	before := slices.Clone(c.Proxies)
	c.problems = append(c.problems, d.problems...)
	c.auto = appendNew(c.auto, d.approval.auto)
	c.manual = appendNew(c.manual, d.approval.manual)
	for _, name := range slices.Sorted(maps.Keys(d.services)) {
		c.service(name, d.services[name], d)
	}
	for _, p := range d.proxies {
		c.proxy(p, d)
	}
	for _, name := range slices.Sorted(maps.Keys(d.commands)) {
		c.command(name, d.commands[name], d, slices.ContainsFunc(before, func(p ProxiedCommand) bool { return p.name() == name }))
	}
	if d.role == workspace {
		return
	}
	set(&c.Approval.Timeout, d.approval.timeout)
	set(&c.Approval.WaitAlways, d.approval.always)
	set(&c.Approval.Durable, d.approval.durable)
	set(&c.Audit.Sync, d.audit.sync)
	set(&c.Audit.PerContainer, d.audit.perContainer)
	set(&c.Audit.Rotate, d.audit.rotate)
	set(&c.Audit.Keep, d.audit.keep)
	c.Audit.Redact = append(c.Audit.Redact, d.audit.redact...)
	if d.notify.Command != nil {
		c.Notify.Command = d.notify.Command
	}
	c.Notify.Desktop = cmp.Or(d.notify.Desktop, c.Notify.Desktop)
	c.Notify.Bell = cmp.Or(d.notify.Bell, c.Notify.Bell)
	c.Jobs.Output = cmp.Or(d.jobs.Output, c.Jobs.Output)
	c.Jobs.Disk = cmp.Or(d.jobs.Disk, c.Jobs.Disk)
	c.Limits = d.limits.over(c.Limits)
	c.defaults = d.defaults.Over(c.defaults)
	c.git(d)
	c.agent(d)
}

func set[T any](at *T, value *T) {
	if value != nil {
		*at = *value
	}
}

// appendNew appends the patterns that are not in all yet.
func appendNew(all, more []policy.LinePattern) []policy.LinePattern {
	for _, p := range more {
		if !slices.ContainsFunc(all, func(q policy.LinePattern) bool { return q.Source == p.Source && q.Anywhere == p.Anywhere }) {
			all = append(all, p)
		}
	}
	return all
}

// proxy adds a command that d proxies. A project's entry replaces the global entry of the same name. A
// workspace's entry is used only if there is no other.
func (c *Config) proxy(more ProxiedCommand, d *document) {
	i := c.indexProxy(more.name())
	switch {
	case i >= 0 && d.role == workspace:
		if c.Proxies[i].Value != more.Value {
			c.warn(more.Position, "proxies: "+more.Value+": not used, because the host's configuration has "+c.Proxies[i].Value)
		}
	case !c.mayProxy(more, d):
	case i < 0:
		c.Proxies = append(c.Proxies, more)
	default:
		c.Proxies[i] = more
	}
}

// mayProxy reports whether d may proxy a command as more says, and refuses it otherwise. An entry takes precedence over
// the section of the command, so a workspace's entry for a command that the host has configured may be only its name. A
// project cannot move a confined command to the host.
func (c *Config) mayProxy(more ProxiedCommand, d *document) bool {
	name := more.name()
	before := c.place(ProxiedCommand{Value: name})
	if i := c.indexProxy(name); i >= 0 {
		before = c.place(c.Proxies[i])
	}
	_, configured := c.rules[name]
	switch entry := names.Quoted(more.Value); {
	case d.role == workspace && configured && more.Value != name:
		c.refuse(more.Position, name, "is configured on the host already: a workspace may only add rules to it, not "+entry+" to proxies")
	case d.role == project && before.Confined() && !c.place(more).Confined():
		c.refuse(more.Position, name, "proxies: "+entry+" would run on the host: a project cannot move a command there from "+before.String())
	default:
		return true
	}
	return false
}

func (c *Config) indexProxy(name string) int {
	return slices.IndexFunc(c.Proxies, func(p ProxiedCommand) bool { return p.name() == name })
}

// place returns the place of a command with the entry p, as far as it is known.
func (c *Config) place(p ProxiedCommand) policy.Place {
	cmd, _ := ParseProxy(p.Value)
	if cmd.Where != nil {
		return policy.Place(*cmd.Where)
	}
	return c.rules[cmd.Name].Place
}

func (p ProxiedCommand) name() string {
	c, _ := ParseProxy(p.Value) // the value was parsed before, so there is no error
	return c.Name
}

// command merges a command of d. A project's rule replaces the rule with the same id. A workspace's proposal can only add
// rules to a command that the host has, in commands or, if proxied is set, in proxies.
func (c *Config) command(name string, more policy.Ruleset, d *document, proxied bool) {
	base, exists := c.rules[name]
	if d.role == workspace && (exists || proxied) && (more.Exec+more.SHA256+more.GitDir+more.Place.Image != "" || more.Place.Sandboxed || !more.Sandbox.Empty() || more.Prepend != nil || more.Settings != (policy.Settings{})) {
		c.refuse(more.Position, name, "is configured on the host already: a workspace may only add rules to it")
		return
	}
	if !exists {
		c.rules[name] = more
		return
	}
	base.Approved = c.mergeRules(name, base.Approved, more.Approved, d)
	base.Rules = c.mergeRules(name, base.Rules, more.Rules, d)
	if more.Exec != "" {
		base.Exec, base.SHA256 = more.Exec, more.SHA256
	}
	if more.Prepend != nil {
		base.Prepend = more.Prepend
	}
	if more.Place.Confined() {
		base.Place = more.Place
	}
	if !more.Sandbox.Empty() {
		base.Sandbox = more.Sandbox
	}
	base.GitDir = cmp.Or(more.GitDir, base.GitDir)
	base.Settings = more.Settings.Over(base.Settings)
	c.rules[name] = base
}

// mergeRules returns all with the rules of d in more.
func (c *Config) mergeRules(command string, all, more []policy.Rule, d *document) []policy.Rule {
	all = slices.Clone(all)
	for _, r := range more {
		i := slices.IndexFunc(all, func(old policy.Rule) bool { return old.ID == r.ID })
		switch {
		case i < 0:
			all = append(all, r)
		case d.role == workspace:
			c.refuse(r.Position, r.Title(command), "there is such a rule already: a workspace may only add rules")
		default:
			all[i] = r
		}
	}
	return all
}

// warn adds a warning, which is shown at the start of a session, too.
func (c *Config) warn(where, text string) {
	p := policy.Problem{Position: where, Text: text}
	c.warnings, c.Warnings = append(c.warnings, p), append(c.Warnings, p.String())
}

func (c *Config) refuse(where, rule, text string) {
	c.problems = append(c.problems, policy.Problem{Position: where, Rule: rule, Text: text, Fatal: true})
}

func (r role) String() string { return [...]string{"", "project", "workspace"}[r] }
