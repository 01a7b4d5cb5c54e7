// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
	"testing"
)

// TestVariable checks which arguments of which commands may vary. Programs, subcommands, options, and values of options
// that may be code never do.
//
// Attack 262.
func TestVariable(t *testing.T) {
	sandbox := Place{Sandboxed: true}
	all, noPath := "number path words", "number words"
	for _, tt := range []struct {
		line  string
		n     int
		place Place
		grade Grade
		path  string // of the program
		want  string // forms, or a part of the problem
	}{
		{"rm -f src/a", 2, Place{}, GradeUnknown, "", all},
		{"rm -f a", 2, Place{}, GradeUnknown, "", all},
		{"head -c 5 a", 2, Place{}, GradeNone, "", all},
		{"own src/a", 1, Place{}, GradeUnknown, "", all},
		{"own deploy", 1, Place{}, GradeUnknown, "", noPath},
		{"own -w src/a", 2, Place{}, GradeUnknown, "", all},
		{"own run src/a", 2, Place{}, GradeNone, "", all},
		{"gh pr view 12", 3, Place{}, GradeNone, "", noPath},
		{"git add a", 2, Place{}, GradeNone, "", all},
		{"git --no-pager -c core.hooksPath=/dev/null add a", 5, Place{}, GradeNone, "", all},
		{"git diff -- a", 3, sandbox, GradeNone, "", all},
		{"git diff a", 2, sandbox, GradeNone, "", noPath},
		{"pytest tests/a", 1, sandbox, GradeNone, "", all},
		{"python3 x.py 5", 2, sandbox, GradeNone, "", noPath},

		{"rm a", 0, Place{}, GradeNone, "", "the program has no number"},
		{"rm a", 2, Place{}, GradeNone, "", "arguments are numbered"},
		{"rm -f a", 1, Place{}, GradeNone, "", "it is an option"},
		{"dd of=a", 1, Place{}, GradeUnknown, "", "may set one"},
		{"make a", 1, Place{}, GradeCertain, "", "on the host"},
		{"git add a", 2, Place{}, GradePossible, "", "on the host"},
		{"make a", 1, sandbox, GradeNone, "", "choose what runs"},
		{"mk a", 1, sandbox, GradeNone, "/usr/bin/make", "choose what runs"},
		{"npm run a", 2, sandbox, GradeNone, "", "choose what runs"},
		{"env a", 1, sandbox, GradeNone, "", "choose what runs"},
		{"find src -exec a", 3, sandbox, GradeNone, "", "choose what runs"},
		{"sed s/a/b/ x", 2, sandbox, GradeNone, "", "choose what runs"},
		{"git status", 1, Place{}, GradeNone, "", "what the program does"},
		{"git -C a status", 2, Place{}, GradeNone, "", "what the program does"},
		{"git -x status", 2, Place{}, GradeNone, "", "what the program does"},
		{"git stash pop", 2, Place{}, GradeNone, "", "what the program does"},
		{"git remote add a b", 3, Place{}, GradeNone, "", "choose what runs"},
		{"git diff --output a", 3, Place{}, GradeNone, "", noPath},
		{"git commit -F a", 3, Place{}, GradeNone, "", "code or configuration"},
		{"git fetch --upload-pack a", 3, Place{}, GradeNone, "", "code or configuration"},
		{"gh pr view", 1, Place{}, GradeNone, "", "what the program does"},
		{"gh pr view", 2, Place{}, GradeNone, "", "what the program does"},
		{"gh -R x pr view", 4, Place{}, GradeNone, "", "what the program does"},
		{"go run a", 2, sandbox, GradeNone, "", "what the program does"},
		{"python3 src/x.py", 1, sandbox, GradeNone, "", "choose what runs"},
		{"python3 x.py -c a", 3, sandbox, GradeNone, "", "code or configuration"},
		{"own -c a", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"own -e a", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"own -ne a", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"own --eval a", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"own -exec a", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"own -o a", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"own --config a", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"kubectl exec web a/b", 3, Place{}, GradeUnknown, "", "choose what runs"},
		{"kubectl delete pod a", 3, Place{}, GradeUnknown, "", noPath},
		{"gh run view 12", 3, Place{}, GradeNone, "", noPath},
		{"own -K a", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"rg --pre a x", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"wget --use-askpass a", 2, Place{}, GradeUnknown, "", "code or configuration"},
		{"tar cfI x.tar a", 3, Place{}, GradeUnknown, "", "code or configuration"},
		{"tar xf x.tar a/b", 3, Place{}, GradeUnknown, "", all},
		{"own x -- a", 3, Place{}, GradeUnknown, "", "a command"},
		{"git-push push origin a", 3, Place{}, GradeNone, "", "choose what runs"},
		{Shell + " a b", 1, Place{}, GradeNone, "", "choose what runs"},
	} {
		v := Verdict{Args: strings.Fields(tt.line), Place: tt.place, Grade: tt.grade, Command: Command{Path: tt.path}}
		forms, err := (&Policy{}).VaryForms(v, tt.n)
		got := strings.Trim(fmt.Sprint(forms), "[]")
		if err != nil {
			got = err.Error()
		}
		if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
			t.Errorf("%s, argument %d: %q, want %q", tt.line, tt.n, got, tt.want)
		}
	}
}
