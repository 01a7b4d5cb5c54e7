// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

// Grade says how likely it is that a command runs code that the container can write. It is
// shown before the command runs: a warning that is the same for make and for git is not read.
type Grade string

const (
	GradeNone     Grade = ""         // it is known to run no such code
	GradeUnknown  Grade = "unknown"  // nothing is known about it
	GradePossible Grade = "possible" // it does if configuration or hooks say so: git
	GradeCertain  Grade = "certain"  // it does: make, sh
)

// Grades are the grades that are shown, the worst first.
var Grades = []Grade{GradeCertain, GradePossible, GradeUnknown}

// Code reports whether the command counts as one that runs code of the container's.
func (g Grade) Code() bool { return g != GradeNone }

// Label returns g in a few words, "" for GradeNone.
func (g Grade) Label() string {
	switch g {
	case GradeNone:
		return ""
	case GradePossible:
		return "possible host code execution"
	case GradeUnknown:
		return "host code execution not known"
	}
	return "HOST CODE EXECUTION"
}

// Says returns a sentence about g: the commands called names run code from files in from.
func (g Grade) Says(from string, names ...string) string {
	who, verb := strings.Join(names, ", "), " run"
	if len(names) == 1 {
		verb = " runs"
	}
	switch g {
	case GradeNone:
		return ""
	case GradePossible:
		return who + " may run code from " + from
	case GradeUnknown:
		return "nothing says whether " + who + verb + " code from " + from
	}
	return who + verb + " code from " + from
}

// SaysOfOne is Says for the one command of a question.
func (g Grade) SaysOfOne() string { return g.Says("files that the container can write", "it") }

// grade returns the grade that is shown for k.
func (k knowledge) grade() Grade {
	return map[knowledge]Grade{unknown: GradeUnknown, mayRun: GradePossible, runsCode: GradeCertain}[k]
}

// Grade returns the grade of the command called name, with any arguments. Its program is at path.
func (p *Policy) Grade(name, path string) Grade {
	return p.programs(name, path).known(nil, false, false).grade()
}
