// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestHostCode(t *testing.T) {
	for _, tt := range []struct {
		name     string
		commands []state.Command
		want     []string
	}{
		{"none", nil, nil},
		{"none that does", []state.Command{{Name: "npm", Action: "deny"}, {Name: "uname", Action: "allow", Path: "/usr/bin/uname"}}, nil},
		{"one", []state.Command{{Name: "make", Action: "allow", Path: "/usr/bin/make"}}, []string{"HOST CODE EXECUTION: make runs code from /w"}},
		{"by its program", []state.Command{{Name: "make", Action: "rules"}, {Name: "mk", Action: "ask", Path: "/usr/bin/ninja"}, {Name: "kubectl", Action: "allow", Path: "/usr/bin/kubectl"}}, []string{
			"HOST CODE EXECUTION: make, mk run code from /w", "host code execution not known: nothing says whether kubectl runs code from /w"}},
		{"git", []state.Command{{Name: "git", Action: "ask"}, {Name: "docker", Action: "allow"}, {Name: "sh", Action: "deny"}}, []string{
			"HOST CODE EXECUTION: docker runs code from /w", "possible host code execution: git may run code from /w"}},
	} {
		if got := HostCode(&policy.Policy{}, tt.commands, "/w", policy.Grades...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestSuitsSandbox proposes a sandbox for build tools, not for clients of the engine.
func TestSuitsSandbox(t *testing.T) {
	p := &policy.Policy{}
	for name, want := range map[string]bool{"make": true, "npm": true, "sh": true, "docker": false, "terraform": false, "sudo": false, "docker-compose": false} {
		if got := p.SuitsSandbox(name, "/usr/bin/"+name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if p.SuitsSandbox("mk", "/usr/bin/docker") {
		t.Error("a link to docker")
	}
}

// TestWarnOf checks that a recorded warning is printable and of limited length.
func TestWarnOf(t *testing.T) {
	s := NewSession(NewRecord(&state.Store{Home: t.TempDir()}, state.Session{}, nil), slog.New(slog.DiscardHandler))
	l := s.Warnings
	all := []string{"the mount of /a\u202e\x1b[2J\u009b", strings.Repeat("x", 2*maxWarning)}
	for len(all) < 2*maxWarnings {
		all = append(all, "more")
	}
	l.Set(all)
	if got := l.list(); len(got) != maxWarnings || got[0] != `the mount of /a\u202e\u001b[2J\u009b` || len(got[1]) != maxWarning || len(s.Record.Session().Warnings) != maxWarnings {
		t.Errorf("%d warnings, %q", len(got), got[:2])
	}
}
