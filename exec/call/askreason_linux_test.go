// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"slices"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestAskReasonIsShown checks that a person who is asked about a call that a rule allows sees the
// reason for the question.
func TestAskReasonIsShown(t *testing.T) {
	s, _ := calltest.NewServer(t)
	names, err := policy.ParseArgPattern("[a-z./]+", false)
	if err != nil {
		t.Fatal(err)
	}
	silent := policy.Rule{ID: "silent", Do: policy.Allow}
	wide := policy.Rule{ID: "wide", Do: policy.Allow, Effects: []string{"read"}, Argv: []policy.Element{{Kind: policy.KindRegexp, Pattern: names}}}
	for _, r := range []*policy.Rule{&silent, &wide} {
		if err := r.Compile(); err != nil {
			t.Fatal(err)
		}
	}
	sc := *s.Config()
	sc.Policy = &policy.Policy{Rules: map[string]policy.Ruleset{"mine": {Exec: "/bin/true", Rules: []policy.Rule{silent, wide}}}}
	s.SetConfig(&sc)
	defer s.Queue.AddApprover()()
	for _, tt := range []struct {
		args []string
		note string
		code bool
	}{
		{[]string{"mine"}, "asked, although mine/silent allows it: the rule states no effects, so it counts as running code", true},
		{[]string{"mine", "../x"}, "asked, although mine/wide allows it: argument 1 names a path outside of the workspace, and the rule does not say anywhere: true", false},
	} {
		changed := s.Queue.Changed()
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDNull, tt.args...)
		c.Drain()
		<-changed
		all := s.Queue.Pending()
		if q := all[len(all)-1]; !slices.Equal(q.Notes, []string{tt.note}) || q.Grade.MayRunCode() != tt.code {
			t.Errorf("%q: notes %q, code %v, want %q, %v", tt.args, q.Notes, q.Grade, tt.note, tt.code)
		}
	}
}
