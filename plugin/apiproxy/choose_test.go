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

// TestNarrow checks that a label chooses among the allowed commands, and removes no limit of the host.
//
// Attack 240.
func TestNarrow(t *testing.T) {
	allowed := state.Session{
		Commands: []state.Command{
			{Name: "make", Action: "allow", Path: "/bin/make", Found: true},
			{Name: "git", Action: "ask", Path: "/bin/git", Found: true, Explicit: true},
			{Name: "rm", Action: "deny", Explicit: true},
			{Name: "go", Action: "allow", Path: "/bin/go", Where: &state.Place{Sandboxed: true}},
			{Name: "id", Action: "allow", Path: "/bin/id", Explicit: true},
		},
		RuleCommands: []string{"gh"},
	}
	allow, ask := state.Command{Action: "allow"}, state.Command{Action: "ask", Explicit: true}
	sandboxed := state.Command{Action: "allow", Where: &state.Place{Sandboxed: true}}
	for _, tt := range []struct {
		label string
		shell state.Command
		want  string
		hint  string // of the refusal
	}{
		{"", ask, "make=allow git=ask rm=deny go=allow id=allow shell=ask", ""},
		{" ", allow, "make=allow git=ask rm=deny go=allow id=allow shell=allow", ""},
		{"make", allow, "make=allow git=deny rm=deny go=deny id=deny", ""},
		{"make", ask, "make=allow git=deny rm=deny go=deny id=deny shell=deny", ""},
		{"make", sandboxed, "make=allow git=deny rm=deny go=deny id=deny shell=deny", ""},
		{"git, make", allow, "make=allow git=ask rm=deny go=deny id=deny", ""},
		{"rm,gh,go", allow, "git=deny rm=deny go=allow id=deny", ""},
		{"make,shell", ask, "make=allow git=deny rm=deny go=deny id=deny shell=ask", ""},
		{"make,docker", allow, "", "--proxy docker "},
		{"a,b,c,d,e,f,g,h,i", allow, "", "--proxy h allows"},
		{"make=/tmp/evil", allow, "", "names of commands"},
		{"make,", allow, "", "names of commands"},
		{"true;rm -rf", allow, "", "names of commands"},
		{strings.Repeat("x", 1<<20), allow, "", "names of commands"},
	} {
		rec := allowed
		tt.shell.Name = "shell"
		rec.Shell = &tt.shell
		err := limitToLabel(&rec, tt.label)
		if hint := cli.HintOf(err); (err == nil) != (tt.hint == "") || !strings.Contains(hint, tt.hint) || err != nil && len(err.Error()) > 500 {
			t.Errorf("%.50q: %.500v, hint %q, want %q", tt.label, err, hint, tt.hint)
		}
		if got := actions(rec); err == nil && got != tt.want {
			t.Errorf("%q leaves %s, want %s", tt.label, got, tt.want)
		}
		if len(allowed.Commands) != 5 || allowed.Commands[0].Name != "make" || allowed.Commands[1].Action != "ask" {
			t.Fatal("narrow changed what it was given")
		}
	}
	none := state.Session{}
	if err := limitToLabel(&none, "shell"); !strings.Contains(cli.HintOf(err), "--proxy-shell") {
		t.Errorf("shells: %v, hint %q", err, cli.HintOf(err))
	}
}

// TestLabelOfGitPush checks that a label names git-push as the flag does, and not by its helper.
func TestLabelOfGitPush(t *testing.T) {
	for label, allowed := range map[string]bool{"git-push": true, "git-remote-hostexec": false} {
		rec := state.Session{Commands: []state.Command{{Name: "git-push", Action: "allow", Shim: "git-remote-hostexec"}}}
		if err := limitToLabel(&rec, label); (err == nil) != allowed || allowed && len(rec.Commands) != 1 {
			t.Errorf("%s: %+v, %v", label, rec.Commands, err)
		}
	}
}

// actions returns the session's commands in the form NAME=ACTION, separated by spaces.
func actions(rec state.Session) string {
	var words []string
	for _, c := range rec.Proxied() {
		words = append(words, c.Name+"="+c.Action)
	}
	return strings.Join(words, " ")
}
