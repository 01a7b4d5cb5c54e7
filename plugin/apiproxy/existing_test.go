// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestNarrowed checks that changes of the configuration can only reduce the permissions of an
// existing session.
func TestNarrowed(t *testing.T) {
	session := func(shell string, commands ...string) (rec state.Session) {
		for i := 0; i < len(commands); i += 2 {
			rec.Commands = append(rec.Commands, state.Command{Name: commands[i], Action: commands[i+1], Path: "/bin/" + commands[i]})
		}
		if shell != "" {
			rec.Shell = &state.Command{Name: "shell", Action: shell}
		}
		return rec
	}
	for _, tt := range []struct {
		name     string
		old, now state.Session
		want     string
		covered  bool // nothing is missing
	}{
		{"the same", session("", "make", "allow"), session("", "make", "allow"), "make=allow", true},
		{"less", session("", "make", "allow", "git", "allow"), session("", "git", "allow"), "git=allow", true},
		{"nothing", session("allow", "make", "allow"), session(""), "", true},
		{"stricter", session("allow", "make", "allow"), session("ask", "make", "ask"), "make=ask shell=ask", true},
		{"laxer", session("ask", "make", "deny"), session("allow", "make", "allow"), "make=deny shell=ask", false},
		{"more", session("", "make", "allow"), session("allow", "make", "allow", "git", "allow"), "make=allow", false},
		{"another", session("", "make", "allow"), session("", "git", "allow"), "", false},
		{"an action that is none", session("", "make", "allow"), session("", "make", "?"), "make=?", true},
	} {
		got := restricted(tt.old, tt.now)
		text := ""
		for _, c := range got.Proxied() {
			text += fmt.Sprintf(" %s=%s", c.Name, c.Action)
		}
		if text != "" {
			text = text[1:]
		}
		if text != tt.want || covers(got, tt.now) != tt.covered {
			t.Errorf("%s: %q, covered %v; want %q, %v", tt.name, text, covers(got, tt.now), tt.want, tt.covered)
		}
	}
}

// TestNarrowedPlace: a command that the host allows only elsewhere now, or as another program, does not stay where it
// was.
//
// Attack 255.
func TestNarrowedPlace(t *testing.T) {
	host, sandbox, box := &state.Place{}, &state.Place{Sandboxed: true}, &state.Place{Image: "box"}
	at := func(path string, found bool, where *state.Place, in ...string) *state.Command {
		return &state.Command{Name: "x", Action: "allow", Path: path, Found: found, Where: where, In: in}
	}
	for _, tt := range []struct {
		name           string
		old, now, want *state.Command
	}{
		{"the same", at("/a", false, sandbox), at("/a", false, sandbox), at("/a", false, sandbox)},
		{"another program", at("/a", false, nil), at("/b", false, nil), nil},
		{"another program of PATH", at("/a", true, nil), at("/b", true, nil), at("/a", true, nil)},
		{"a program of PATH in place of another", at("/a", false, nil), at("/b", true, nil), nil},
		{"a sandbox", at("/a", true, nil), at("/a", true, sandbox), at("/a", true, sandbox)},
		{"a sandbox in place of the host", at("/a", true, host), at("/a", true, sandbox), at("/a", true, sandbox)},
		{"no sandbox", at("/a", true, sandbox), at("/a", true, nil), at("/a", true, sandbox)},
		{"the configuration in place of the host", at("/a", true, host), at("/a", true, nil), at("/a", true, nil)},
		{"the host in place of the configuration", at("/a", true, nil), at("/a", true, host), at("/a", true, nil)},
		{"a container", at("/a", true, nil), at("/a", true, box), nil},
		{"a container in place of a sandbox", at("/a", true, sandbox), at("/a", true, box), nil},
		{"the host in place of a container", at("", false, box), at("", false, nil), at("", false, box)},
		{"a shell in containers", at("/a", true, nil), at("/a", true, nil, "c"), nil},
		{"a shell in fewer containers", at("/a", true, nil, "c", "d"), at("/a", true, nil, "d"), at("/a", true, nil, "d")},
		{"a shell on the host", at("/a", true, nil, "c"), at("/a", true, nil), nil},
	} {
		got := restricted(state.Session{Commands: []state.Command{*tt.old}, Shell: tt.old}, state.Session{Commands: []state.Command{*tt.now}, Shell: tt.now})
		switch {
		case tt.want == nil && (len(got.Commands) > 0 || got.Shell != nil):
			t.Errorf("%s: %+v stays", tt.name, got.Commands)
		case tt.want != nil && (len(got.Commands) != 1 || !reflect.DeepEqual(got.Commands[0], *tt.want) || !reflect.DeepEqual(got.Shell, tt.want)):
			t.Errorf("%s: %+v and %+v, want %+v", tt.name, got.Commands, got.Shell, *tt.want)
		}
	}
}

func TestNarrowedFlags(t *testing.T) {
	old := state.Session{PassEnv: []string{"A", "B"}, NewPrivs: true}
	got := restricted(old, state.Session{PassEnv: []string{"B", "C"}})
	if len(got.PassEnv) != 1 || got.PassEnv[0] != "B" || got.NewPrivs {
		t.Errorf("narrowed = %+v", got)
	}
	if covers(got, state.Session{PassEnv: []string{"C"}}) || covers(got, state.Session{NewPrivs: true}) || !covers(got, got) {
		t.Error("what is missing is not seen")
	}
}

func TestOfDirectory(t *testing.T) {
	compose := existingContainer{Summary: container.Summary{Labels: map[string]string{labelProjectDir: "/src/app/"}}}
	own := existingContainer{Summary: compose.Summary, session: &state.Session{InvokedIn: "/elsewhere"}}
	for _, tt := range []struct {
		e    existingContainer
		dir  string
		want bool
	}{
		{compose, "/src/app", true}, {compose, "/src", false}, {existingContainer{}, "/src/app", false}, {existingContainer{}, "", false},
		{own, "/elsewhere", true}, {own, "/src/app", false},
	} {
		if got := tt.e.ofDirectory(tt.dir); got != tt.want {
			t.Errorf("%+v is of %s: %v", tt.e, tt.dir, got)
		}
	}
}
