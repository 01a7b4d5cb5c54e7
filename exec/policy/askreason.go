// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
)

// The reasons for asking about a request that a rule or a list allows. The person who approves reads them.
const (
	askEffects = "the rule states no effects, so it counts as running code"
	askCode    = "it runs code that the container may have written, and the rule does not accept that"
	askOutside = "argument %d names a path outside of the workspace, and the %s does not say anywhere: true"
)

// effective returns the action of a rule that matches, and the reason if the rule allows and the
// action is Ask. A rule allows code that the container may have written only with Accept. A rule
// allows paths outside of the workspace only with Anywhere.
func (d *decision) effective(r *Rule) (action Action, grade Grade, askReason string) {
	if d.place().Confined() {
		return r.Do, GradeNone, "" // the code does not reach the host's own files
	}
	args := d.m.args
	if r.Fixed != nil {
		args = r.Fixed
	}
	kind := d.names().kind(args, r.Fixed != nil, d.gitDir())
	grade = kind.grade()
	switch {
	case slices.Contains(r.Effects, "code"):
		grade = GradeCertain
	case kind == unknown && len(r.Effects) > 0: // the rule states effects, and code is not one of them
		grade = GradeNone
	}
	switch {
	case r.Do != Allow:
	case grade == GradeUnknown && !r.Accept:
		return Ask, grade, askEffects
	case grade.MayRunCode() && !r.Accept:
		return Ask, grade, askCode
	case r.Fixed == nil && !r.AnyArgs && !r.Anywhere && d.req.Args[0] != GitPush: // its arguments are no paths
		if n := d.m.firstOutsideMatch(); n > 0 {
			return Ask, grade, fmt.Sprintf(askOutside, n, "rule")
		}
	}
	return r.Do, grade, ""
}

// outsideArg returns the number of the first argument that names a path outside of the workspace, or 0.
// It returns 0 for commands proxied with --proxy and for commands that run in a container or a sandbox: they may
// name any path.
func (d *decision) outsideArg() int {
	if d.proxied || d.place().Confined() {
		return 0
	}
	return slices.IndexFunc(d.m.args, func(a string) bool { return namesOutsidePath(a, atValue) }) + 1
}

// firstOutsideMatch returns the number of the first argument that a pattern matched and that names a path
// outside of the workspace, or 0. It skips arguments whose values the rule lists literally.
func (m *matcher) firstOutsideMatch() int {
	at := 0
	for i := range m.argv {
		e := &m.argv[i]
		for ; at < m.ends[i]; at++ {
			if e.matchedByPattern(m.args[at]) && namesOutsidePath(m.args[at], e.startState()) {
				return at + 1
			}
		}
	}
	return 0
}

// matchedByPattern reports whether a pattern of e matched a. Words, flags and names of options are literal, and paths
// are resolved below the mounts.
func (e *Element) matchedByPattern(a string) bool {
	switch e.Kind {
	case KindRegexp, KindArgs:
		return true
	case KindOptions:
		return !slices.Contains(e.Flags, a) && !slices.ContainsFunc(e.Opts, func(o Opt) bool { return o.Name == a })
	}
	return false
}

// startState returns the state in which the scan of e's arguments begins.
func (e *Element) startState() scanState {
	if e.afterDashDash {
		return afterDashes
	}
	return atValue
}
