// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// In is the word before the container that a command for a shell is for, where it is not for
// one on the host: the first two of its arguments.
const In = "--in"

// inside returns the container that a request reaches into by a shell, "" if none. A text is
// the last argument and its options come in pairs, so that no text is taken for it.
func inside(args []string) string {
	if len(args) < 4 || args[0] != Shell || args[1] != In {
		return ""
	}
	return args[2]
}

// Inside returns the container in which what v lets run runs, by a shell there, or "".
func (v *Verdict) Inside() string { return inside(v.Args) }

// Reaches reports whether anything but a denial is said of shells in a container: by
// --proxy-shell, which has to name it, or by a rule.
func (p *Policy) Reaches(container string) bool {
	if p.Broken != "" || container == "" {
		return false
	}
	if c, ok := p.Lookup(Shell); ok && c.Action != Deny && slices.Contains(p.Inside, container) {
		return true
	}
	return slices.ContainsFunc(p.Rules[Shell].Rules, func(r Rule) bool { return r.Do != Deny && r.names(container) })
}

// names reports whether the rule says, word for word, that it is about shells in a container.
// One that would match anything is not about them.
func (r *Rule) names(container string) bool {
	if len(r.Argv) < 2 {
		return false
	}
	first, second := r.Argv[0], r.Argv[1]
	return first.Kind == Word && first.Words[0] == In && (second.Kind == Word || second.Kind == Any) && slices.Contains(second.Words, container)
}

// reachable reports whether a rule, or --proxy-shell where r is nil, may let the request
// through as far as its container is concerned. What denies denies anywhere.
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
