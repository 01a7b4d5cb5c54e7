// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

// TestGrade checks that the warning for a call that may run container code differs from the warning
// for a call that does.
func TestGrade(t *testing.T) {
	for line, want := range map[string]Grade{
		"make test": GradeCertain, "npm test": GradeCertain, "sh -c x": GradeCertain, "docker run x": GradeCertain, "terraform apply": GradeCertain, "git-lfs pull": GradeCertain,
		"git status": GradePossible, "git": GradePossible, "gh pr create": GradePossible, "hg pull": GradePossible, "docker": GradeCertain,
		"kubectl get pods": GradeUnknown, "gh api user": GradeUnknown, "docker restart x": GradeUnknown,
		"ls -l": GradeNone, "gh pr list": GradeNone, "docker ps": GradeNone,
	} {
		args := strings.Fields(line)
		p := &Policy{Commands: []Command{{Name: args[0], Action: Ask}}}
		if got := p.Decide(Request{Args: args}).Grade; got != want {
			t.Errorf("the grade of %s is %q, want %q", line, got, want)
		}
	}
	said := map[string]bool{}
	for _, g := range Grades {
		said[g.Label()], said[g.SentenceForOne()] = true, true
	}
	if len(said) != 2*len(Grades) || GradeNone.Label()+GradeNone.SentenceForOne() != "" {
		t.Errorf("the grades are said as %v", said)
	}
}
