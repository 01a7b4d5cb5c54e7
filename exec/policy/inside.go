// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// In is the first argument of a shell command that runs in another container; the container's name
// follows. Commands for shells on the host do not have it.
const In = "--in"

// inside returns the container whose shell the request uses, or "" for a shell on the host. The
// command text is the last argument, and options come in pairs, so command text is never parsed as
// In.
func inside(args []string) string {
	if len(args) < 4 || args[0] != Shell || args[1] != In {
		return ""
	}
	return args[2]
}

// Inside returns the container in which v's command runs through a shell, or "".
func (v *Verdict) Inside() string { return inside(v.Args) }

// Reaches reports whether the policy permits or asks about shells in a container. Either
// --proxy-shell names the container, or a rule that does not deny names it.
func (p *Policy) Reaches(container string) bool {
	if p.Broken != "" || container == "" {
		return false
	}
	if c, ok := p.Lookup(Shell); ok && c.Action != Deny && slices.Contains(p.Inside, container) {
		return true
	}
	return slices.ContainsFunc(p.Rules[Shell].Rules, func(r Rule) bool { return r.Do != Deny && r.names(container) })
}

// names reports whether the rule names the container literally. A pattern that matches any
// container does not count.
func (r *Rule) names(container string) bool {
	if len(r.Argv) < 2 {
		return false
	}
	first, second := r.Argv[0], r.Argv[1]
	return first.Kind == Word && first.Words[0] == In && (second.Kind == Word || second.Kind == Any) && slices.Contains(second.Words, container)
}

// reachable reports whether a rule may apply to the container of the request. r is nil for
// --proxy-shell. A rule that denies applies to every container.
func (d *decision) reachable(r *Rule) bool {
	container := inside(d.req.Args)
	switch {
	case container == "":
		return true
	case r == nil:
		return slices.Contains(d.Inside, container)
	}
	return r.Do == Deny || r.names(container)
}
