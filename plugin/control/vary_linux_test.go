// SPDX-License-Identifier: Apache-2.0

package control

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestVaryListed checks that the rule of a grant is whole in a single entry and cut in a list, also if the argument
// that varies is beyond the arguments that the list has.
func TestVaryListed(t *testing.T) {
	g := approval.Grant{
		Question: approval.Question{Args: []string{"x", strings.Repeat("y", 5000), "1"}},
		Variable: &approval.Variable{Argument: 2, Form: policy.FormNumber},
	}
	if whole := shownGrant(g); whole.Line() != "x "+strings.Repeat("y", 5000)+" <number>" || whole.Cut != nil {
		t.Errorf("whole: %+v", whole)
	}
	if short := listedGrant(g); short.Cut == nil || short.Vary.Argument != 2 || len(short.Line()) > 2*maxListedText || !strings.HasPrefix(short.Line(), "x yyy") {
		t.Errorf("in a list: %+v", short)
	}
	g.Variable = nil
	if short := listedGrant(g); short.Vary != nil || !strings.HasSuffix(short.Line(), " (3 arguments, 5002 bytes)") {
		t.Errorf("without a variable: %+v", short)
	}
}

// TestVaryLine checks the rule that a client shows before it grants.
func TestVaryLine(t *testing.T) {
	for _, tt := range [][3]string{
		{"a", "1", `x <path below /w> $'\033'`}, {"a b", "1=a b,c", `x <'a b'|c> $'\033'`}, {"a", "2", ""}, {"a", "1=number", "error"}, {"a", "1=b,c", "error"}, {"a", "y", "error"},
	} {
		q := Question{Args: []string{"x", tt[0], `"\x1b"`}, Vary: []Offer{{Argument: 1, Forms: []policy.Form{policy.FormPath, policy.FormWords}, Below: "/w"}}}
		got, err := q.VaryLine(tt[1])
		if err != nil {
			got = "error"
		}
		if got != tt[2] {
			t.Errorf("%s of %s: %s (%v), want %s", tt[1], tt[0], got, err, tt[2])
		}
	}
}
