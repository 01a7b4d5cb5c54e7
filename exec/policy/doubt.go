// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
)

// Doubts are why a request is asked about that a rule or a list allows. The person reads them.
const (
	doubtEffects = "the rule states no effects, so it counts as running code"
	doubtCode    = "it runs code that the container may have written, and the rule does not accept that"
	doubtOutside = "argument %d names a path outside of the workspace, and the %s does not say anywhere: true"
)

// effective returns what a rule that matches does, and why it asks if it says that it
// allows. To allow what may run code of the container's takes an acceptance in writing, and
// to allow a path outside of the workspace takes a word for it.
func (d *decision) effective(r *Rule) (action Action, grade Grade, doubt string) {
	if d.place().Contained() {
		return r.Do, GradeNone, "" // it runs code, and has files, but not the host's
	}
	args := d.m.args
	if r.Fixed != nil {
		args = r.Fixed
	}
	known := d.names().known(args, r.Fixed != nil, d.gitDir())
	grade = known.grade()
	switch {
	case r.says("code"):
		grade = GradeCertain
	case known == unknown && len(r.Effects) > 0: // it says what it does, and code is not among it
		grade = GradeNone
	}
	switch {
	case r.Do != Allow:
	case grade == GradeUnknown && !r.Accept:
		return Ask, grade, doubtEffects
	case grade.Code() && !r.Accept:
		return Ask, grade, doubtCode
	case r.Fixed == nil && !r.Always && !r.Anywhere:
		if n := d.m.outside(); n > 0 {
			return Ask, grade, fmt.Sprintf(doubtOutside, n, "rule")
		}
	}
	return r.Do, grade, ""
}

// strays returns the number of the first argument that names a path outside of the
// workspace, or 0. What is proxied as a whole may name any, and so may a container's command.
func (d *decision) strays() int {
	if d.proxied || d.place().Contained() {
		return 0
	}
	return slices.IndexFunc(d.m.args, func(a string) bool { return leaves(a, atValue) }) + 1
}

// outside returns the number of the first argument that a pattern matched, and no element
// that says which it may be, and that names a path outside of the workspace; or 0.
func (m *matcher) outside() int {
	at := 0
	for i := range m.argv {
		e := &m.argv[i]
		for ; at < m.ends[i]; at++ {
			if e.open(m.args[at]) && leaves(m.args[at], e.begin()) {
				return at + 1
			}
		}
	}
	return 0
}

// open reports whether it was a pattern of e's that matched a: words and options are spelled
// out, and paths are looked up below the mounts.
func (e *Element) open(a string) bool {
	switch e.Kind {
	case Re, Args:
		return true
	case Options:
		return !slices.Contains(e.Flags, a) && !slices.ContainsFunc(e.Opts, func(o Opt) bool { return o.Name == a })
	}
	return false
}

// begin is where the arguments of e begin to be read.
func (e *Element) begin() position {
	if e.loose {
		return atOperand
	}
	return atValue
}
