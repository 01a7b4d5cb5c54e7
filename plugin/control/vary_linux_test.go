// SPDX-License-Identifier: Apache-2.0

package control

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestVaryListed checks that the rule of a grant is whole in a single entry and cut in a list. The varying argument may
// be beyond the arguments that the list has.
func TestVaryListed(t *testing.T) {
	g := approval.StandingDenial{Grant: approval.Grant{
		Question: approval.Question{Args: []string{"x", strings.Repeat("y", 5000), "1"}},
		Varying:  &approval.VaryingArgument{Argument: 2, Form: policy.FormNumber},
	}}
	if whole := shownAnswer(g); whole.CommandLine() != "x "+strings.Repeat("y", 5000)+" <number>" || whole.Cut != nil {
		t.Errorf("whole: %+v", whole)
	}
	if short := listedAnswer(g); short.Cut == nil || short.Vary.Argument != 2 || len(short.CommandLine()) > 2*maxListedText || !strings.HasPrefix(short.CommandLine(), "x yyy") {
		t.Errorf("in a list: %+v", short)
	}
	g.Varying = nil
	if short := listedAnswer(g); short.Vary != nil || !strings.HasSuffix(short.CommandLine(), " (3 arguments, 5002 bytes)") {
		t.Errorf("without a varying argument: %+v", short)
	}
}

// TestNamed checks that lines have the names of copied files, and not the paths of the copies.
func TestNamed(t *testing.T) {
	q := approval.Question{Args: []string{"sh", "/scratch/1/run.sh", "1"}, Copied: map[int]string{1: "./run.sh\x1b"}}
	const line = `sh $'./run.sh\033' 1`
	for _, s := range []Question{shown(q), listed(q)} {
		if CommandLine(s.Words()) != line || s.Args[1] != "/scratch/1/run.sh" {
			t.Errorf("a question is shown as %+v", s)
		}
	}
	g := approval.StandingDenial{Grant: approval.Grant{Question: q}}
	for _, a := range []StandingAnswer{shownAnswer(g), listedAnswer(g)} {
		if a.CommandLine() != line || a.Args[1] != "/scratch/1/run.sh" || a.Cut != nil {
			t.Errorf("a grant is shown as %+v", a)
		}
	}
	g.Varying = &approval.VaryingArgument{Argument: 2, Form: policy.FormNumber}
	if got := shownAnswer(g).CommandLine(); got != strings.TrimSuffix(line, "1")+"<number>" {
		t.Errorf("a rule is shown as %s", got)
	}
	s := shown(q)
	s.Vary = []Offer{{Argument: 2, Forms: []policy.Form{policy.FormNumber}}}
	if got, err := s.VaryCommandLine("2=number"); err != nil || got != strings.TrimSuffix(line, "1")+"<number>" {
		t.Errorf("a rule is offered as %s, %v", got, err)
	}
	g.Varying, q.Args[2] = nil, strings.Repeat("x", 2*maxListedQuestion) // g has the same arguments
	for _, short := range [][]string{listed(q).Named, listedAnswer(g).Named} {
		if len(short) < 2 || !strings.HasPrefix(CommandLine(short), `sh $'./run.sh\033'`) || len(CommandLine(short)) > 2*names.MaxListed {
			t.Errorf("in a list it is %q", short)
		}
	}
}

// TestVaryCommandLine checks the command line that a client shows before it grants.
func TestVaryCommandLine(t *testing.T) {
	for _, tt := range [][3]string{
		{"a", "1", `x <path below /w> $'\033'`}, {"a b", "1=a b,c", `x <'a b'|c> $'\033'`}, {"a", "2", ""}, {"a", "1=number", "error"}, {"a", "1=b,c", "error"}, {"a", "y", "error"},
	} {
		q := Question{Args: []string{"x", tt[0], `"\x1b"`}, Vary: []Offer{{Argument: 1, Forms: []policy.Form{policy.FormPath, policy.FormWords}, Below: "/w"}}}
		got, err := q.VaryCommandLine(tt[1])
		if err != nil {
			got = "error"
		}
		if got != tt[2] {
			t.Errorf("%s of %s: %s (%v), want %s", tt[1], tt[0], got, err, tt[2])
		}
	}
}
