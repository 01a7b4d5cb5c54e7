// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestSelects(t *testing.T) {
	web := map[string]string{state.LabelService: "web", "team": "a"}
	asks := map[string]string{LabelProxy: "", state.LabelService: ""}
	for _, tt := range []struct {
		name       string
		by         Selection
		labels     map[string]string
		configured bool
		want       bool
	}{
		{"nothing said", Selection{}, nil, false, false},
		{"it asks", Selection{}, asks, false, true},
		{"the configuration has it", Selection{}, web, true, true},
		{"all", Selection{All: true}, nil, false, true},
		{"its service", Selection{Services: []string{"db", "web"}}, web, false, true},
		{"another service", Selection{Services: []string{"db"}}, web, false, false},
		{"another service, and it asks", Selection{Services: []string{"db"}}, asks, false, false},
		{"another service, and configured", Selection{Services: []string{"db"}}, web, true, false},
		{"its label", Selection{Labels: []string{"team=a"}}, web, false, true},
		{"a label's other value", Selection{Labels: []string{"team=b"}}, web, false, false},
		{"a label's empty value", Selection{Labels: []string{"team="}}, web, false, false},
		{"any value", Selection{Labels: []string{"team"}}, web, false, true},
		{"no such label", Selection{Labels: []string{"crew"}}, web, false, false},
		{"one of both", Selection{Services: []string{"db"}, Labels: []string{"team=a"}}, web, false, true},
	} {
		if got := tt.by.selects(tt.labels, tt.configured); got != tt.want {
			t.Errorf("%s: selected %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestNarrow(t *testing.T) {
	allowed := state.Session{
		Commands:     []state.Command{{Name: "make", Action: "allow"}, {Name: "git", Action: "ask"}, {Name: "rm", Action: "deny"}},
		RuleCommands: []string{"gh"},
		Shell:        &state.Command{Name: "shell", Action: "allow"},
	}
	for _, tt := range []struct {
		label, want string
		shell       bool
		hint        string // of the refusal
	}{
		{"", "make git rm", true, ""},
		{" ", "make git rm", true, ""},
		{"make", "make", false, ""},
		{"git, make", "make git", false, ""},
		{"rm,gh", "rm", false, ""},
		{"make,shell", "make", true, ""},
		{"make,docker", "", false, "--proxy docker "},
		{"a,b,c,d,e,f,g,h,i", "", false, "--proxy h allows"},
		{"make=/tmp/evil", "", false, "names of commands"},
		{"make,", "", false, "names of commands"},
		{"true;rm -rf", "", false, "names of commands"},
		{strings.Repeat("x", 1<<20), "", false, "names of commands"},
	} {
		rec := allowed
		err := limitToLabel(&rec, tt.label)
		if hint := cli.HintOf(err); (err == nil) != (tt.hint == "") || !strings.Contains(hint, tt.hint) || err != nil && len(err.Error()) > 500 {
			t.Errorf("%.50q: %.500v, hint %q, want %q", tt.label, err, hint, tt.hint)
		}
		if err == nil && (strings.Join(rec.Names(), " ") != tt.want || (rec.Shell != nil) != tt.shell) {
			t.Errorf("%q leaves %v and the shell %v, want %s, %v", tt.label, rec.Names(), rec.Shell != nil, tt.want, tt.shell)
		}
		if len(allowed.Commands) != 3 || allowed.Commands[0].Name != "make" {
			t.Fatal("narrow changed what it was given")
		}
	}
	none := state.Session{}
	if err := limitToLabel(&none, "shell"); !strings.Contains(cli.HintOf(err), "--proxy-shell") {
		t.Errorf("shells: %v, hint %q", err, cli.HintOf(err))
	}
}
