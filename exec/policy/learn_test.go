// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/exectest"
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
		{line: "head -n 5 src/f", why: "a link to another file"},
		{line: "wc --files0-from=src/f", why: "a link to another file"},
		{line: "grep -r x", effects: effects, why: "a link to another file"},
		{line: "head -n 5 src/f", confined: true},
		{line: "chmod 777 src/f", effects: effects, why: "a link to another file"},
		{line: "rm -rf src/f", effects: effects, why: "a link to another file"},
		{line: "rm -rf src/f", confined: true},
		{line: "head -n 5"},
		{line: "sh -c true", effects: effects, why: "sh runs what its arguments say"},
		{line: "python3.11 x.py", effects: effects, why: "runs what its arguments say"},
		{line: "find . -exec true", effects: effects, why: "find runs what its arguments say"},
		{line: "sudo ls", effects: effects, why: "sudo runs"},
		{line: "ssh host", effects: effects, why: "ssh runs"},
		{line: "env ls", effects: effects, why: "env runs"},
		{line: "prlimit --core=0 ls", effects: effects, why: "prlimit runs"},
		{line: "bwrap --dev-bind / / ls", effects: effects, why: "bwrap runs"},
		{line: "xargs ls", effects: effects, why: "xargs runs"},
		{line: "make test", effects: effects, why: "where: sandbox confines it"},
		{line: "git push", effects: effects, why: "where: sandbox confines it"},
		{line: "docker run img", effects: effects, why: "root-equivalent"},
		{line: "make test", confined: true},
		{line: "sh -c true", confined: true, why: "sh runs what its arguments say"},
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
			p.Commands = nil // --proxy git-push=ask would decide
			p.Rules[GitPush] = Ruleset{Rules: []Rule{rule("all", Ask, several("[a-z]+", 1, 3))}}
		}
		_, asks, why := p.Learnable(args, tt.effects)
		if !asks || (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("Learnable(%.40q, confined %v) = asks %v, %q, want %q", tt.line, tt.confined, asks, why, tt.why)
		}
	}
}

// TestApproved has a rule of Approved for the call deploy a, beside rules and flags that decide about it.
func TestApproved(t *testing.T) {
	word := Element{Kind: KindWord, Words: []string{"a"}}
	asks := func(change func(*Rule)) []Rule {
		r := rule("x", Ask, word)
		change(&r)
		return []Rule{r}
	}
	for _, tt := range []struct {
		name     string
		rules    []Rule
		proxy    *Command
		confined bool // the rule of Approved
		want     Action
	}{
		{"nothing", nil, nil, false, Deny},
		{"a rule asks", asks(func(*Rule) {}), nil, false, Allow},
		{"--proxy asks", nil, &Command{Action: Ask}, false, Allow},
		{"--proxy denies", nil, &Command{Action: Deny, Explicit: true}, false, Deny},
		{"a rule denies", append(asks(func(*Rule) {}), rule("no", Deny, word)), nil, false, Deny},
		{"a rule denies, --proxy asks", []Rule{rule("no", Deny, word)}, &Command{Action: Ask}, false, Deny},
		{"no rule matches", []Rule{rule("x", Ask)}, nil, false, Deny},
		{"for a sandbox", asks(func(*Rule) {}), nil, true, Ask},
		{"in a sandbox", nil, &Command{Action: Ask, Placed: true, Place: Place{Sandboxed: true}}, true, Allow},
		{"a program that runs code", nil, &Command{Action: Ask, Path: "/usr/bin/python3"}, false, Ask},
		{"with a preview", asks(func(r *Rule) { r.Preview = []string{"-n"} }), nil, false, Ask},
		{"with captured stdin", asks(func(r *Rule) { r.Settings.Stdin = &Stdin{Mode: StdinCapture, Limit: 9} }), nil, false, Ask},
		{"with a file", []Rule{rule("x", Ask, file(1, 1))}, nil, false, Ask},
	} {
		p := &Policy{Rules: map[string]Ruleset{"deploy": {Rules: tt.rules}}}
		if tt.proxy != nil {
			tt.proxy.Name = "deploy"
			p.Commands = []Command{*tt.proxy}
		}
		p = p.with("deploy", literalRule(Candidate{Args: []string{"deploy", "a"}, Effects: []string{"read"}, Confined: tt.confined}))
		if v := p.Decide(Request{Args: []string{"deploy", "a"}}); v.Action != tt.want {
			t.Errorf("%s: %v by %s, want %v", tt.name, v.Action, v.Rule, tt.want)
		}
	}
}

func candidates(confined bool, lines ...string) (all []Candidate) {
	for _, l := range lines {
		args := strings.Split(l, " ")
		p := askPolicy(confined, args[0])
		all = append(all, Candidate{Args: args, Confined: confined, Times: 1, forms: p.formsOf(args, p.Decide(Request{Args: args}))})
	}
	return all
}

func TestLearn(t *testing.T) {
	var numbers, verbs, files, words []string
	for i := range 9 {
		numbers = append(numbers, "seq x "+strconv.Itoa(5+i))
		verbs = append(verbs, "kubectl "+strconv.Itoa(i))
		files = append(files, "lint src/f"+strconv.Itoa(i)+".go")
		words = append(words, fmt.Sprintf("deploy w%d", i))
	}
	for _, tt := range []struct {
		name   string
		calls  []Candidate
		denied []string
		want   []string
	}{
		{"one call", candidates(false, "deploy a"), nil, []string{"deploy a"}},
		{"equal calls", candidates(false, "deploy a", "deploy a"), nil, []string{"deploy a"}},
		{"two values", candidates(false, "deploy a", "deploy b"), nil, []string{"deploy a|b"}},
		{"two differences", candidates(false, "deploy a x", "deploy b y"), nil, []string{"deploy a x", "deploy b y"}},
		{"options do not vary", candidates(false, "deploy --a", "deploy --b"), nil, []string{"deploy --a", "deploy --b"}},
		{"lengths", candidates(false, "deploy a", "deploy a b"), nil, []string{"deploy a", "deploy a b"}},
		{"numbers", candidates(false, numbers...), nil, []string{"seq x /[1-9][0-9]{0,1}/"}},
		{"few numbers", candidates(false, numbers[:3]...), nil, []string{"seq x 5|6|7"}},
		{"leading zeros", candidates(false, append(numbers[:8:8], "seq x 007")...), nil, []string{"seq x 007|10|11|12|5|6|7|8|9"}},
		{"numbers that may be subcommands", candidates(false, verbs...), nil, []string{"kubectl 0|1|2|3|4|5|6|7|8"}},
		{"files on the host", candidates(false, files...), nil, []string{"lint src/f0.go|src/f1.go|src/f2.go|src/f3.go|src/f4.go|src/f5.go|src/f6.go|src/f7.go|src/f8.go"}},
		{"files in a sandbox", candidates(true, files...), nil, []string{`lint /src(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)+/ (confined)`}},
		{"files that begin with a dot", candidates(true, append(files[:8:8], "lint src/.git")...), nil,
			[]string{"lint src/.git|src/f0.go|src/f1.go|src/f2.go|src/f3.go|src/f4.go|src/f5.go|src/f6.go|src/f7.go (confined)"}},
		{"files without a directory", candidates(true, append(files[:8:8], "lint x.go")...), nil,
			[]string{"lint src/f0.go|src/f1.go|src/f2.go|src/f3.go|src/f4.go|src/f5.go|src/f6.go|src/f7.go|x.go (confined)"}},
		{"words in a sandbox", candidates(true, words...), nil, []string{"deploy w0|w1|w2|w3|w4|w5|w6|w7|w8 (confined)"}},
		{"a denied number", candidates(false, numbers...), []string{"seq x 99"}, []string{"seq x 10|11|12|13|5|6|7|8|9"}},
		{"a denied call of another shape", candidates(false, "deploy a"), []string{"deploy b", "other a"}, []string{"deploy a"}},
		{"denied and approved", candidates(false, "deploy a", "deploy b"), []string{"deploy a"}, []string{"deploy b"}},
		{"other commands", candidates(false, "x a", "y b"), nil, []string{"x a", "y b"}},
		{"an empty argument", []Candidate{{Args: []string{"c", "", "a"}}, {Args: []string{"c", "", "b"}}}, nil, []string{"c '' a|b"}},
		{"patterns are literal", candidates(false, "c *.go", "c [a-z]", "c .*"), nil, []string{"c '*.go'|'.*'|'[a-z]'"}},
	} {
		var denied [][]string
		for _, d := range tt.denied {
			denied = append(denied, strings.Split(d, " "))
		}
		rules := Learn(tt.calls, Denials{Calls: denied})
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
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: Learn = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLearnProperty checks over generated policies and histories that a learned policy decides differently only about
// calls that the old one asked about. Each of these was approved, or is a stated variation of approved calls.
func TestLearnProperty(t *testing.T) {
	changed, varied, histories := 0, 0, exectest.Scaled(400, 100)
	for seed := range int64(histories) {
		g := generator{rand.New(rand.NewSource(seed))}
		p := g.policy()
		var approved []Candidate
		var denied Denials
		for range 1 + g.Intn(120) {
			args := g.call()
			if g.Intn(20) == 0 {
				denied.Calls = append(denied.Calls, args)
			} else if c, asks, why := p.Learnable(args, []string{"read"}); asks && why == "" {
				approved = append(approved, c)
			}
		}
		denied.Unknown = g.Intn(5) == 0
		q := p
		for _, l := range Learn(approved, denied) {
			q = q.with(l.Command, l.Rule)
		}
		for range 2000 {
			args := g.call()
			before, after := p.Decide(Request{Args: args, GitDirReadOnly: true}), q.Decide(Request{Args: args, GitDirReadOnly: true})
			if before.Action == after.Action {
				continue
			}
			changed++
			exactly := slices.ContainsFunc(approved, func(c Candidate) bool { return slices.Equal(c.Args, args) })
			if !exactly {
				varied++
			}
			if before.Action != Ask || after.Action != Allow || denied.has(args) || !exactly && (denied.Unknown || !stated(p, args, approved)) {
				t.Fatalf("seed %d: %q: %v became %v by %s; denied %v; approved %v", seed, args, before.Action, after.Action, after.Rule, denied, approved)
			}
			if after.Streams.Whole || after.Streams.TTY || after.Streams.Stdin.Mode != StdinNone {
				t.Fatalf("seed %d: %q gets input: %+v", seed, args, after.Streams)
			}
			if v := q.Decide(Request{Args: args, GitDirReadOnly: true, MoreThanArgs: true}); v.Action != Ask {
				t.Fatalf("seed %d: %q with variables: %v, want ask", seed, args, v.Action)
			}
		}
	}
	if changed < 25*histories || varied < 2*histories {
		t.Errorf("%d decisions changed, %d of them by a variation: the histories are too poor", changed, varied)
	}
}

// stated reports whether args differs from more than maxWords approved calls in the same one argument. The argument
// must be a number or a file like each of theirs. It is a second definition, without rules.
func stated(p *Policy, args []string, approved []Candidate) bool {
	for i := 1; i < len(args); i++ {
		seen := map[string]bool{}
		for _, c := range approved {
			if len(c.Args) == len(args) && slices.Equal(slices.Delete(slices.Clone(c.Args), i, i+1), slices.Delete(slices.Clone(args), i, i+1)) {
				seen[c.Args[i]] = true
			}
		}
		v := p.Decide(Request{Args: args, GitDirReadOnly: true})
		forms, _ := p.VaryForms(v, i)
		if len(seen) > maxWords && like(args[i], seen, slices.Contains(forms, FormNumber), v.Place.Confined() && slices.Contains(forms, FormPath)) {
			return true
		}
	}
	return false
}

// like reports whether s could be a variation of some of seen. It could if it is a number with at most their digits, or
// a file below a directory of theirs.
func like(s string, seen map[string]bool, number, file bool) bool {
	n, err := strconv.Atoi(s)
	number, file = number && err == nil && n >= 0 && strconv.Itoa(n) == s, file && !strings.Contains(s, "..") && !strings.Contains(s, "/.")
	longest := 0
	numbers, files := 0, 0
	for v := range seen {
		if _, err := strconv.Atoi(v); err == nil {
			numbers, longest = numbers+1, max(longest, len(v))
		}
		if dir, _, ok := strings.Cut(v, "/"); ok && strings.HasPrefix(s, dir+"/") {
			files++
		}
	}
	return number && numbers > maxWords && len(s) <= longest || file && files > maxWords
}

// generator makes policies and calls of a small language, so that calls repeat.
type generator struct{ *rand.Rand }

func (g generator) pick(all ...string) string { return all[g.Intn(len(all))] }

func (g generator) policy() *Policy {
	p := askPolicy(g.Intn(2) == 0, "deploy", "make", "sh", "ls")
	if g.Intn(3) == 0 {
		auto, _ := ParseLinePattern("^deploy stop$")
		manual, _ := ParseLinePattern("^deploy ")
		p.Commands, p.Auto, p.Manual = p.Commands[1:], []LinePattern{auto}, []LinePattern{manual}
	}
	var rules []Rule
	for range g.Intn(4) {
		r := Rule{ID: "r" + strconv.Itoa(len(rules)), Do: Action(g.Intn(3)), Effects: []string{"read"}, Argv: []Element{{Kind: KindAny, Words: []string{g.pick("start", "stop"), g.pick("view", "7")}}}}
		if g.Intn(2) == 0 {
			p, _ := ParseArgPattern("[a-z0-9/.-]+", false)
			r.Argv = append(r.Argv, Element{Kind: KindArgs, Pattern: p, Max: 3})
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
	switch g.Intn(6) {
	case 0:
		return []string{"ls", strconv.Itoa(g.Intn(120))}
	case 1:
		return []string{"deploy", g.pick("src", "src/../x", "src/.git", "doc") + "/" + strconv.Itoa(g.Intn(40)) + g.pick(".go", "")}
	}
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
