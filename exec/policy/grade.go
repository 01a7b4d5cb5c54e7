// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// Grade is the probability that a command runs code that the container can write. The grade is
// shown before the command runs. It has levels because people ignore a warning that is the same for
// make and for git.
type Grade string

const (
	GradeNone     Grade = ""         // known not to run such code
	GradeUnknown  Grade = "unknown"  // nothing is known about the command
	GradePossible Grade = "possible" // runs such code if configuration or hooks name it: git
	GradeCertain  Grade = "certain"  // always runs such code: make, sh
)

// Grades lists the grades that are shown, worst first.
var Grades = []Grade{GradeCertain, GradePossible, GradeUnknown}

// MayRunCode reports whether the command may run code that the container wrote. It is true if hostexec does not know.
func (g Grade) MayRunCode() bool { return g != GradeNone }

// Label returns a short description of g, or "" for GradeNone.
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

// Sentence returns a sentence about g: the commands in names run code from something that the words in from describe.
func (g Grade) Sentence(from string, names ...string) string {
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

// SentenceForOne returns the Sentence for the single command of a question.
func (g Grade) SentenceForOne() string { return g.Sentence("files that the container can write", "it") }

// grade returns the Grade that is shown for k.
func (k toolKind) grade() Grade {
	return map[toolKind]Grade{unknown: GradeUnknown, mayRun: GradePossible, runsCode: GradeCertain}[k]
}

// Grade returns the grade of the command called name with any arguments. path is the command's
// program.
func (p *Policy) Grade(name, path string) Grade {
	return p.programs(name, path).kind(nil, false, false).grade()
}

// RunsDirCode reports whether the command called name runs code from files of its working directory, with any
// arguments. path is the command's program.
func (p *Policy) RunsDirCode(name, path string) bool {
	return slices.ContainsFunc(p.programs(name, path), runs)
}

// SuitsSandbox reports whether the command called name may work in a sandbox. path is the command's program.
func (p *Policy) SuitsSandbox(name, path string) bool {
	return !slices.ContainsFunc(p.programs(name, path), func(n string) bool {
		_, verbs := toolVerbs[tool(n)] // their servers and providers listen on unix sockets
		return verbs || needsHost(tool(n))
	})
}
