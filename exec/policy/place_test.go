// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// TestPlace checks that a command runs where --proxy says, or else where the configuration says. A
// path is never used in another place.
func TestPlace(t *testing.T) {
	in := Place{Image: "img"}
	other := Place{Image: "other", Network: "none"}
	allow := func(id string) Rule {
		r := Rule{ID: id, Do: Allow, Argv: []Element{{Kind: KindWord, Words: []string{"all"}}}}
		if err := r.Compile(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	found := Command{Name: "make", Action: Allow, Path: "/usr/bin/make"}
	typed := Command{Name: "make", Action: Allow, Path: "/opt/make", Placed: true, Place: other}
	home := Command{Name: "make", Action: Allow, Path: "/usr/bin/make", Placed: true}
	explicit := Command{Name: "make", Action: Allow, Explicit: true, Path: "/usr/bin/make"}
	listed, err := ParseLinePattern("^make all$")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		commands []Command
		set      Ruleset
		auto     []LinePattern
		place    Place
		path     string
		code     bool
		action   Action
	}{
		{"nothing said", []Command{found}, Ruleset{}, nil, Place{}, "/usr/bin/make", true, Allow},
		{"configured", []Command{found}, Ruleset{Place: in}, nil, in, "", false, Allow},
		{"configured, with its path there", []Command{found}, Ruleset{Place: in, Exec: "/bin/make"}, nil, in, "/bin/make", false, Allow},
		{"typed", []Command{typed}, Ruleset{}, nil, other, "/opt/make", false, Allow},
		{"typed over configured", []Command{typed}, Ruleset{Place: in, Exec: "/bin/make"}, nil, other, "/opt/make", false, Allow},
		{"typed over a path of the host", []Command{{Name: "make", Action: Allow, Placed: true, Place: in}}, Ruleset{Exec: "/usr/bin/make"}, nil, in, "", false, Allow},
		{"host over configured", []Command{home}, Ruleset{Place: in, Exec: "/bin/make"}, nil, Place{}, "/usr/bin/make", true, Allow},
		{"a rule", nil, Ruleset{Place: in, Exec: "/bin/make", Rules: []Rule{allow("a")}}, nil, in, "/bin/make", false, Allow},
		{"a rule that would ask on the host", nil, Ruleset{Exec: "/bin/make", Rules: []Rule{allow("a")}}, nil, Place{}, "/bin/make", true, Ask},
		{"explicit, in spite of rules", []Command{explicit}, Ruleset{Place: in, Rules: []Rule{allow("a")}}, nil, in, "", false, Allow},
		{"a list", nil, Ruleset{Place: in}, []LinePattern{listed}, in, "", false, Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Policy{Commands: tt.commands, Rules: map[string]Ruleset{"make": tt.set}, Auto: tt.auto}
			v := p.Decide(Request{Args: []string{"make", "all"}})
			if v.Place != tt.place || v.Command.Path != tt.path || v.Grade.MayRunCode() != tt.code || v.Action != tt.action {
				t.Errorf("%v at %q of %v, code %v; want %v at %q of %v, code %v", v.Action, v.Command.Path, v.Place, v.Grade.MayRunCode(), tt.action, tt.path, tt.place, tt.code)
			}
			if got := p.Place("make"); got != tt.place {
				t.Errorf("Place = %v, want %v", got, tt.place)
			}
		})
	}
}

func TestPlaceInWords(t *testing.T) {
	all := Place{Image: "img:1", DockerHost: "unix:///e", Network: "none", Memory: 1 << 20, CPUs: 15e8, Pids: 3}
	for _, tt := range []struct{ got, want string }{
		{Place{}.String(), "host"},
		{Place{Image: "img:1", Network: "none"}.String(), "container:img:1"},
		{all.String(), "container:img:1,docker_host=unix:///e"},
		{Place{}.Limits(), ""},
		{all.Limits(), "docker_host unix:///e, network none, memory 1048576 bytes, cpus 1.5, pids 3"},
		{(&Verdict{Command: Command{Path: "/bin/x"}}).Program(), "/bin/x"},
		{(&Verdict{Place: all}).Program(), "container:img:1,docker_host=unix:///e"},
		{(&Verdict{Place: all, Command: Command{Path: "/bin/x"}}).Program(), "container:img:1,docker_host=unix:///e /bin/x"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
