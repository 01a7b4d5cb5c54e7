// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/inputs"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// grouped returns a question with every fact that decides about its group.
func grouped() Question {
	q := withFile("echo 1")
	q.Container, q.Cwd, q.Dir, q.Project, q.Branch, q.Agent = "web", "/w", "/home/u/w", "w", "main", "a"
	q.Args, q.Copied = []string{"sh", "/scratch/1/run.sh"}, map[int]string{1: "run.sh"}
	q.Effects, q.Grade, q.Notes, q.Setup, q.Diff = []string{"write"}, policy.GradeCertain, []string{"stdin is 2 bytes"}, "env", "+x"
	q.Offers = []Offer{{Argument: 1, Forms: []policy.Form{policy.FormPath}}}
	q.Mount = BindMount{Target: "/w", Source: "/home/u/w"}
	return q
}

// TestGroup checks that only questions are shown together that differ in nothing but their containers and directories.
func TestGroup(t *testing.T) {
	first := grouped()
	for name, change := range map[string]func(*Question){
		"request": func(q *Question) { q.ID = "2" }, "session": func(q *Question) { q.Session = "t" }, "container": func(q *Question) { q.Container = "db" },
		"directory":      func(q *Question) { q.Cwd, q.Dir, q.Mount.Source = "/w/x", "/home/u/x", "/home/u/x" },
		"project":        func(q *Question) { q.Project, q.Branch, q.Agent = "x", "y", "z" },
		"call":           func(q *Question) { files := *q.Inputs; files.Call = "d"; q.Inputs = &files },
		"path of a copy": func(q *Question) { q.Args = []string{"sh", "/scratch/2/run.sh"} },
		"earlier":        func(q *Question) { q.Earlier.Asked = 3 },
	} {
		q := grouped()
		if change(&q); q.Group() != first.Group() || q.Group() == "" {
			t.Errorf("another %s: another group", name)
		}
	}
	for name, change := range map[string]func(*Question){
		"argument": func(q *Question) { q.Args = []string{"sh", "run.sh", ""} }, "name": func(q *Question) { q.Args = []string{"bash", "run.sh"} },
		"copy": func(q *Question) { q.Copied = map[int]string{1: "other.sh"} }, "no copy": func(q *Question) { q.Copied = nil },
		"program": func(q *Question) { q.Path = "/usr/local/bin/sh" }, "rule": func(q *Question) { q.Rule = "s" },
		"effects": func(q *Question) { q.Effects = nil }, "grade": func(q *Question) { q.Grade = policy.GradePossible },
		"notes": func(q *Question) { q.Notes = []string{"stdin is 3 bytes"} }, "setup": func(q *Question) { q.Setup = "env2" },
		"content":      func(q *Question) { q.Inputs = withFile("echo 2").Inputs },
		"copied":       func(q *Question) { files := *q.Inputs; files.Copied = true; q.Inputs = &files },
		"unbound":      func(q *Question) { files := *q.Inputs; files.Unbound = []string{"sources"}; q.Inputs = &files },
		"no files":     func(q *Question) { q.Inputs = nil },
		"empty files":  func(q *Question) { q.Inputs = &inputs.Set{} },
		"reason":       func(q *Question) { q.NoInputs = "too many" },
		"preview":      func(q *Question) { q.Preview = &Preview{} },
		"diff":         func(q *Question) { q.Diff = "+y" },
		"offer":        func(q *Question) { q.Offers = nil },
		"offered path": func(q *Question) { q.Mount.Target = "/src" },
	} {
		q := grouped()
		if change(&q); q.Group() == first.Group() {
			t.Errorf("another %s: the same group", name)
		}
	}
	first.Setup = ""
	if got := first.Group(); got != "" {
		t.Errorf("without a setup the group is %q, want none", got)
	}
}
