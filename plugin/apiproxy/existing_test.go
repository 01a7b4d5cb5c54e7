// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"reflect"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestNarrowed checks that changes of the configuration can only reduce the permissions of an
// existing session.
//
// Attack 255.
func TestNarrowed(t *testing.T) {
	parse := func(value string) state.Command {
		c, err := config.ParseProxy(value)
		if err != nil {
			t.Fatal(err)
		}
		if c.Action != "deny" && c.Path == "" { // as launch.ResolveCommands does
			c.Path, c.Found = "/bin/"+c.Name, true
		}
		return c
	}
	session := func(shell string, commands ...string) (rec state.Session) {
		for _, value := range commands {
			rec.Commands = append(rec.Commands, parse(value))
		}
		if shell != "" {
			c := parse("bash=" + shell)
			c.Name, c.Explicit = "shell", shell != "allow"
			rec.Shell = &c
		}
		return rec
	}
	onlyShell := session("allow")
	onlyShell.Commands = []state.Command{} // as from a record
	unknown := session("", "make")
	unknown.Commands[0].Action = "?"
	for _, tt := range []struct {
		name     string
		old, now state.Session
		want     string
		covered  bool // nothing is missing
	}{
		{"the same", session("", "make"), session("", "make"), "make=allow", true},
		{"less", session("", "make", "git"), session("", "git"), "git=allow", true},
		{"nothing", session("allow", "make"), session(""), "", true},
		{"stricter", session("allow", "make"), session("ask", "make=ask"), "make=ask shell=ask", true},
		{"laxer", session("ask", "make=deny"), session("allow", "make"), "make=deny shell=ask", false},
		{"more", session("", "make"), session("allow", "make", "git"), "make=allow", false},
		{"another", session("", "make"), session("", "git"), "", false},
		{"an action that is none", session("", "make"), unknown, "make=deny", true},
		{"denied now", session("allow", "make", "git=ask"), session("deny", "make=deny", "git=deny"), "make=deny git=deny shell=deny", true},
		{"denied before", session("deny", "git=deny", "make=deny"), session("allow", "git=ask"), "git=deny make=deny shell=deny", false},
		{"denied before, and now nothing", session("deny", "git=deny"), session(""), "git=deny shell=deny", true},
		{"denied twice", session("deny", "git=deny"), session("deny", "git=deny,path=/x"), "git=deny shell=deny", true},
		{"denied anew", session("", "make"), session("deny", "make", "git=deny"), "make=allow git=deny shell=deny", true},
		{"asked before", session("ask", "make=ask"), session(""), "make=deny shell=deny", true},
		{"asked anew", session("", "make"), session("", "make", "git=ask"), "make=allow", false},
		{"allowed before, whatever rules say", session("", "git=allow"), session(""), "git=deny", true},
		{"another program, which asks", session("", "make"), session("", "make=ask,path=/x"), "make=deny", false},
		{"another program in place of one that asks", session("", "make=ask,path=/x"), session("", "make=/y"), "make=deny", false},
		{"another place", session("", "make,where=sandbox"), session("", "make,where=container:box"), "make=deny", false},
		{"no place", session("", "make,where=sandbox"), session(""), "make=deny", true},
	} {
		got := restricted(tt.old, tt.now)
		if text := actions(got); text != tt.want || covers(got, tt.now) != tt.covered {
			t.Errorf("%s: %q, covered %v; want %q, %v", tt.name, text, covers(got, tt.now), tt.want, tt.covered)
		}
		if again := restricted(got, tt.now); !reflect.DeepEqual(again, got) {
			t.Errorf("%s: %+v, and again %+v", tt.name, got, again)
		}
	}
	if got := restricted(onlyShell, onlyShell); !reflect.DeepEqual(got, onlyShell) {
		t.Errorf("a session without commands: %+v, want %+v", got, onlyShell)
	}
	explicit, plainly := session("", "git=allow"), session("", "git")
	if got := restricted(explicit, plainly); !reflect.DeepEqual(got, plainly) {
		t.Errorf("an action that overrode rules: %+v, want %+v", got, plainly)
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
	denial := &state.Command{Name: "x", Action: "deny", Explicit: true}
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
		{"a container", at("/a", true, nil), at("", false, box), denial},
		{"a container in place of a sandbox", at("/a", true, sandbox), at("", false, box), denial},
		{"another program in a sandbox", at("/a", false, nil), at("/b", false, sandbox), denial},
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
