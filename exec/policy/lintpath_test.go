// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

func TestLintPaths(t *testing.T) {
	for _, tt := range []struct {
		name    string
		command string
		path    Element
		effects []string
		want    string // part of the warning
	}{
		{"a file", "cat", Element{Type: TypeFile}, nil, ""},
		{"a file, by name", "cat", Element{Type: TypeFile, Snapshot: SnapshotNone}, nil, "snapshot: false: when"},
		{"a pathspec", "git", Element{Type: TypeAny, Snapshot: SnapshotNone}, nil, ""},
		{"a file that is written", "sed", Element{Type: TypeFile}, []string{"write"}, "what is written to it is lost"},
		{"a directory", "ls", Element{Type: TypeDir}, nil, "a directory is not copied"},
		{"any", "ls", Element{Type: TypeAny}, nil, "a directory is not copied"},
		{"any, copied", "ls", Element{Type: TypeAny, Snapshot: SnapshotAll}, nil, ""},
		{"a directory, knowingly", "ls", Element{Type: TypeDir, Snapshot: SnapshotNone}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.path.Kind, tt.path.Min, tt.path.Max = KindPath, 1, 1
			r := Rule{ID: "r", Do: Ask, Argv: []Element{tt.path}, Effects: tt.effects, MustNotMatch: [][]string{{"-x"}}}
			if err := r.Compile(); err != nil {
				t.Fatal(err)
			}
			p := &Policy{Rules: map[string]Ruleset{tt.command: {GitDir: GitMount, Rules: []Rule{r}}}}
			var got []string
			for _, problem := range p.Lint() {
				if problem.Fatal {
					t.Errorf("fatal: %s", problem.Text)
				}
				got = append(got, problem.Text)
			}
			if all := strings.Join(got, "\n"); (all == "") != (tt.want == "") || !strings.Contains(all, tt.want) {
				t.Errorf("Lint = %q, want %q", got, tt.want)
			}
		})
	}
}
