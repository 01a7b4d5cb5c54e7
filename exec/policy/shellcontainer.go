// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// containerOption is the first argument of a shell command that runs in another container; the container's name
// follows. Commands for shells on the host do not have it.
const containerOption = "--in"

// targetContainer returns the container whose shell the request uses, or "" for a shell on the host. The command text
// is the last argument, and options come in pairs, so command text is never parsed as containerOption.
func targetContainer(args []string) string {
	if len(args) < 4 || args[0] != Shell || args[1] != containerOption {
		return ""
	}
	return args[2]
}

// TargetContainer returns the container in which v's command runs through a shell, or "".
func (v *Verdict) TargetContainer() string { return targetContainer(v.Args) }

// PermitsShellIn reports whether the policy permits or asks about shells in a container. Either
// --proxy-shell names the container, or a rule that does not deny names it.
func (p *Policy) PermitsShellIn(container string) bool {
	if p.Broken != "" || container == "" {
		return false
	}
	if c, ok := p.Lookup(Shell); ok && c.Action != Deny && slices.Contains(p.ShellContainers, container) {
		return true
	}
	return slices.ContainsFunc(p.Rules[Shell].Rules, func(r Rule) bool { return r.Do != Deny && r.namesContainer(container) })
}

// namesContainer reports whether the rule names the container literally. A pattern that matches any
// container does not count.
func (r *Rule) namesContainer(container string) bool {
	if len(r.Argv) < 2 {
		return false
	}
	first, second := r.Argv[0], r.Argv[1]
	return first.Kind == KindWord && first.Words[0] == containerOption && (second.Kind == KindWord || second.Kind == KindAny) && slices.Contains(second.Words, container)
}

// appliesToContainer reports whether a rule may apply to the container of the request. r is nil for
// --proxy-shell. A rule that denies applies to every container.
func (d *decision) appliesToContainer(r *Rule) bool {
	container := targetContainer(d.req.Args)
	switch {
	case container == "":
		return true
	case r == nil:
		return slices.Contains(d.ShellContainers, container)
	}
	return r.Do == Deny || r.namesContainer(container)
}
