// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// askPolicy asks about every call of the commands, which run in a sandbox if confined is set.
func askPolicy(confined bool, names ...string) *Policy {
	p := &Policy{Rules: map[string]Ruleset{}}
	for _, n := range names {
		p.Commands = append(p.Commands, Command{Name: n, Action: Ask, Explicit: true, Path: "/opt/" + n, Placed: confined, Place: Place{Sandboxed: confined}})
	}
	return p
}

func TestLearnable(t *testing.T) {
	effects := []string{"read", "network"}
	for _, tt := range []struct {
		line     string
		confined bool
		effects  []string
		why      string
	}{
		{line: "deploy staging", effects: effects},
		{line: "deploy staging", why: "not known to be harmless"},
		{line: "ls src"},
		{line: "sh -c true", effects: effects, why: "sh runs what its arguments say"},
		{line: "python3.11 x.py", effects: effects, why: "runs what its arguments say"},
		{line: "find . -exec true", effects: effects, why: "find runs what its arguments say"},
		{line: "sudo ls", effects: effects, why: "sudo runs"},
		{line: "ssh host", effects: effects, why: "ssh runs"},
		{line: "env ls", effects: effects, why: "env runs"},
		{line: "xargs ls", effects: effects, why: "xargs runs"},
		{line: "make test", effects: effects, why: "where: sandbox confines it"},
		{line: "git push", effects: effects, why: "where: sandbox confines it"},
		{line: "docker run img", effects: effects, why: "root-equivalent"},
		{line: "make test", confined: true},
		{line: "sh -c true", confined: true},
		{line: "deploy -f -", effects: effects, why: "stdin"},
		{line: "deploy --file=-", effects: effects, why: "stdin"},
		{line: "git-push push origin a"},
		{line: "git-push delete origin a", why: "changes or deletes"},
		{line: "deploy \x01", effects: effects, why: "printable"},
		{line: "deploy " + strings.Repeat("x", 2000), effects: effects, why: "too long"},
	} {
		args := strings.Split(tt.line, " ")
		p := askPolicy(tt.confined, args[0])
		if args[0] == GitPush {
			p.Rules[GitPush] = Ruleset{Rules: []Rule{rule("all", Ask, several("[a-z]+", 1, 3))}}
		}
		_, asks, why := p.Learnable(args, tt.effects)
		if !asks || (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("Learnable(%.40q, confined %v) = asks %v, %q, want %q", tt.line, tt.confined, asks, why, tt.why)
		}
	}
}

func candidates(confined bool, lines ...string) (all []Candidate) {
	for _, l := range lines {
		all = append(all, Candidate{Args: strings.Split(l, " "), Confined: confined})
	}
	return all
}

func TestLearn(t *testing.T) {
	numbers, files, words := []string{}, []string{}, []string{}
	for i := range 9 {
		numbers = append(numbers, "gh pr view "+strconv.Itoa(5+i))
		files = append(files, "lint src/f"+strconv.Itoa(i)+".go")
		words = append(words, fmt.Sprintf("deploy w%d", i))
	}
	for _, tt := range []struct {
		name     string
		calls    []Candidate
		denied   []string
		want     []string
		removals int
	}{
		{"one call", candidates(false, "deploy a"), nil, []string{"deploy a"}, 0},
		{"equal calls", candidates(false, "deploy a", "deploy a"), nil, []string{"deploy a"}, 0},
		{"two values", candidates(false, "deploy a", "deploy b"), nil, []string{"deploy a|b"}, 0},
		{"two differences", candidates(false, "deploy a x", "deploy b y"), nil, []string{"deploy a x", "deploy b y"}, 0},
		{"options do not vary", candidates(false, "deploy --a", "deploy --b"), nil, []string{"deploy --a", "deploy --b"}, 0},
		{"lengths", candidates(false, "deploy a", "deploy a b"), nil, []string{"deploy a", "deploy a b"}, 0},
		{"numbers", candidates(false, numbers...), nil, []string{"gh pr view /[0-9]{1,2}/"}, 0},
		{"few numbers", candidates(false, numbers[:3]...), nil, []string{"gh pr view 5|6|7"}, 0},
		{"files on the host", candidates(false, files...), nil, []string{"lint src/f0.go|src/f1.go|src/f2.go|src/f3.go|src/f4.go|src/f5.go|src/f6.go|src/f7.go|src/f8.go"}, 0},
		{"files in a sandbox", candidates(true, files...), nil, []string{"lint PATH"}, 0},
		{"words in a sandbox", candidates(true, words...), nil, []string{"deploy w0|w1|w2|w3|w4|w5|w6|w7|w8"}, 0},
		{"the denied number", candidates(false, numbers...), []string{"gh pr view 99"}, nil, 1},
		{"a denied call of another shape", candidates(false, "deploy a"), []string{"deploy b", "other a"}, []string{"deploy a"}, 0},
		{"denied and approved", candidates(false, "deploy a", "deploy b"), []string{"deploy a"}, nil, 1},
		{"commands apart", candidates(false, "x a", "y b"), nil, []string{"x a", "y b"}, 0},
		{"an empty argument", []Candidate{{Args: []string{"c", "", "a"}}, {Args: []string{"c", "", "b"}}}, nil, []string{"c '' a|b"}, 0},
	} {
		var denied [][]string
		for _, d := range tt.denied {
			denied = append(denied, strings.Split(d, " "))
		}
		rules, removed := Learn(tt.calls, denied)
		var got []string
		for _, l := range rules {
			got = append(got, l.Command+" "+l.Rule.Shape())
			for _, test := range l.Rule.runTests(l.Command) {
				if test.Why != "" {
					t.Errorf("%s: the rule's own test fails: %q: %s", tt.name, test.Args, test.Why)
				}
			}
			if len(l.Rule.MustMatch) == 0 || len(l.Rule.MustNotMatch) == 0 {
				t.Errorf("%s: %s has no tests: yes %q, no %q", tt.name, l.Rule.Shape(), l.Rule.MustMatch, l.Rule.MustNotMatch)
			}
		}
		if !slices.Equal(got, tt.want) || len(removed) != tt.removals {
			t.Errorf("%s: Learn = %q, %d removed, want %q, %d", tt.name, got, len(removed), tt.want, tt.removals)
		}
	}
}

// TestLearnProperty checks over generated policies and histories that a learned policy differs from the old one in
// calls only about which that asked, and that each of them was approved, or is a stated variation of approved calls.
func TestLearnProperty(t *testing.T) {
	changed := 0
	for seed := range int64(400) {
		g := generator{rand.New(rand.NewSource(seed))}
		p := g.policy()
		var approved []Candidate
		var denied [][]string
		for range 1 + g.Intn(60) {
			args := g.call()
			if g.Intn(12) == 0 {
				denied = append(denied, args)
			} else if c, asks, why := p.Learnable(args, []string{"read"}); asks && why == "" {
				approved = append(approved, c)
			}
		}
		rules, _ := Learn(approved, denied)
		q := p
		for _, l := range rules {
			q = q.with(l.Command, l.Rule)
		}
		for range 3000 {
			args := g.call()
			before, after := p.Decide(Request{Args: args, GitDir: true}), q.Decide(Request{Args: args, GitDir: true})
			if before.Action == after.Action {
				continue
			}
			changed++
			refused := slices.ContainsFunc(denied, func(d []string) bool { return slices.Equal(d, args) })
			if before.Action != Ask || after.Action != Allow || refused || !stated(args, approved) {
				t.Fatalf("seed %d: %q: %v became %v by %s; denied %v; approved %v", seed, args, before.Action, after.Action, after.Rule, refused, approved)
			}
			if after.Profile.Whole || after.Profile.TTY || after.Profile.Stdin.Mode != StdinNone {
				t.Fatalf("seed %d: %q gets input: %+v", seed, args, after.Profile)
			}
			if v := q.Decide(Request{Args: args, GitDir: true, MoreThanArgs: true}); v.Action != Ask {
				t.Fatalf("seed %d: %q with variables: %v, want ask", seed, args, v.Action)
			}
		}
	}
	if changed < 1000 {
		t.Errorf("only %d decisions changed: the histories are too poor", changed)
	}
}

// stated reports whether args is an approved call, or differs from more than maxWords approved calls in the same one
// argument, which is a number or a path like each of theirs. It is a second definition, without rules.
func stated(args []string, approved []Candidate) bool {
	values := map[int]map[string]bool{}
	confined := true
	for _, c := range approved {
		if len(c.Args) != len(args) {
			continue
		}
		var differs []int
		for i := range args {
			if c.Args[i] != args[i] {
				differs = append(differs, i)
			}
		}
		switch len(differs) {
		case 0:
			return true
		case 1:
			i := differs[0]
			if values[i] == nil {
				values[i] = map[string]bool{}
			}
			values[i][c.Args[i]] = true
			confined = confined && c.Confined
		}
	}
	for i, seen := range values {
		if i == 0 || len(seen) <= maxWords {
			continue
		}
		number := strings.Trim(args[i], "0123456789") == "" && args[i] != ""
		path := confined && !strings.HasPrefix(args[i], "-")
		for v := range seen {
			number = number && strings.Trim(v, "0123456789") == ""
			path = path && strings.ContainsAny(v, "/.") && !strings.HasPrefix(v, "/") && !strings.Contains(v, "..")
		}
		if number || path {
			return true
		}
	}
	return false
}

// generator makes policies and calls of a small language, so that calls repeat.
type generator struct{ *rand.Rand }

func (g generator) pick(all ...string) string { return all[g.Intn(len(all))] }

func (g generator) policy() *Policy {
	p := askPolicy(g.Intn(2) == 0, "deploy", "make", "sh", "ls")
	if g.Intn(3) == 0 {
		auto, _ := ParsePattern("^deploy stop$")
		manual, _ := ParsePattern("^deploy ")
		p.Commands, p.Auto, p.Manual = p.Commands[1:], []Pattern{auto}, []Pattern{manual}
	}
	var rules []Rule
	for range g.Intn(4) {
		r := Rule{ID: "r" + strconv.Itoa(len(rules)), Do: Action(g.Intn(3)), Effects: []string{"read"}, Argv: []Element{{Kind: Any, Words: []string{g.pick("start", "stop"), g.pick("view", "7")}}}}
		if g.Intn(2) == 0 {
			tok, _ := ParseToken("[a-z0-9/.-]+", false)
			r.Argv = append(r.Argv, Element{Kind: Args, Token: tok, Max: 3})
		}
		if r.Compile() == nil {
			rules = append(rules, r)
		}
	}
	p.Rules["deploy"] = Ruleset{Rules: rules}
	p.Rules["make"] = Ruleset{Place: Place{Sandboxed: g.Intn(2) == 0}}
	if g.Intn(2) == 0 {
		p.Commands = slices.DeleteFunc(p.Commands, func(c Command) bool { return c.Name == "deploy" })
	}
	return p
}

func (g generator) call() []string {
	args := []string{g.pick("deploy", "deploy", "deploy", "make", "sh", "ls"), g.pick("start", "stop", "view", "-v")}
	for range g.Intn(3) {
		switch g.Intn(4) {
		case 0:
			args = append(args, strconv.Itoa(g.Intn(40)))
		case 1:
			args = append(args, g.pick("src/", "x.", "")+strconv.Itoa(g.Intn(12))+".go")
		default:
			args = append(args, g.pick("a", "b", "--force", "-", "../x", ""))
		}
	}
	return args
}
