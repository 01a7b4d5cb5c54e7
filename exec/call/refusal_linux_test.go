// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestRefusalHints checks that a refusal names the way that needs no restart, and the command that
// a mistyped one may mean. Suggested commands can be pasted into a shell.
func TestRefusalHints(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  string
		not   string
	}{
		{[]string{"terraform", "apply"}, "docker hostexec policy add --ask -- terraform apply on the host", "is it"},
		{[]string{"terraform", "apply", "-var=x=1"}, "policy add --ask -- terraform apply -var=x=1 on the host", ""},
		{[]string{"terraform", "$(rm -rf ~)"}, "policy add --ask -- terraform ... on the host", "rm -rf"},
		{[]string{"terraform", "a;b"}, "policy add --ask -- terraform ... on the host", "a;b"},
		{[]string{"terraform", ""}, "policy add --ask -- terraform ... on the host", ""},
		{[]string{"terraform", strings.Repeat("x", 65)}, "policy add --ask -- terraform ... on the host", "xxx"},
		{strings.Fields("terraform" + strings.Repeat(" x", 12)), "policy add --ask -- terraform ... on the host", ""},
		{[]string{"git", "push"}, "to be asked about it from now on, docker hostexec policy add --ask -- git push there", ""},
		{[]string{"git", "push"}, "no rule of git allows these arguments (request ", "(nearest"},
		{[]string{"git", "push"}, "): nearest that a person is asked about: git status; docker hostexec policy explain", "ls --agents"},
		{[]string{"git", "status", "-v"}, "(nearest: s) (request ", "--agents"},
		{[]string{"git", "push"}, "; docker hostexec policy explain --session 0123456789ab -- git ... on the host shows why; to be asked", ""},
		{[]string{"git", "gc"}, "): docker hostexec policy explain --session 0123456789ab -- git ... on the host shows why", "policy add"},
		{[]string{"gti", "push"}, "did you mean hostexec git?", ""},
		{[]string{"sesion", "ls"}, "did you mean hostexec session?", ""},
		{[]string{"klil", "1"}, "did you mean hostexec kill?", ""},
		{[]string{"statsu"}, "did you mean docker hostexec status, on the host?", ""},
		{[]string{"status"}, "did you mean docker hostexec status, on the host?", ""},
		{[]string{"stauts", "x"}, "did you mean docker hostexec status, on the host?", ""},
		{[]string{"help"}, "did you mean hostexec --help?", ""},
		{[]string{"version"}, "did you mean hostexec --version?", "hostexec session"},
		{[]string{"make"}, "to add it now", "did you mean"},
	} {
		s, _ := calltest.NewServer(t)
		sc := *s.Config()
		sc.Session = "0123456789ab"
		sc.Policy = &policy.Policy{Rules: map[string]policy.Ruleset{"git": {Rules: []policy.Rule{
			{ID: "s", Do: policy.Allow, Argv: []policy.Element{{Kind: policy.KindWord, Words: []string{"status"}}}},
			{ID: "no", Do: policy.Deny, Argv: []policy.Element{{Kind: policy.KindWord, Words: []string{"gc"}}}},
		}}}}
		for i := range sc.Policy.Rules["git"].Rules {
			if err := sc.Policy.Rules["git"].Rules[i].Compile(); err != nil {
				t.Fatal(err)
			}
		}
		s.SetConfig(&sc)
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDFile, append([]string{"hostexec"}, tt.words...)...)
		c.Read(t, wire.KindExit)
		if !strings.Contains(c.Exit.Text, tt.want) || tt.not != "" && strings.Contains(c.Exit.Text, tt.not) {
			t.Errorf("%.60q: %q, want %q and not %q", tt.words, c.Exit.Text, tt.want, tt.not)
		}
	}
}
