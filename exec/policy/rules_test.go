// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Constructors of rule elements for the tests.

func w(s string) Element         { return Element{Kind: KindWord, Words: []string{s}} }
func anyOf(s ...string) Element  { return Element{Kind: KindAny, Words: s} }
func insert(s ...string) Element { return Element{Kind: KindInsert, Words: s} }
func flags(s ...string) Element  { return Element{Kind: KindOptions, Flags: s} }
func re(s string) Element        { return Element{Kind: KindRegexp, Pattern: argPattern(s)} }
func opt(name, s string) Element {
	return Element{Kind: KindOptions, Opts: []Opt{{name, argPattern(s)}}}
}
func several(s string, min, max int) Element {
	return Element{Kind: KindArgs, Pattern: argPattern(s), Min: min, Max: max}
}
func file(min, max int) Element { return Element{Kind: KindPath, Type: TypeFile, Min: min, Max: max} }

func argPattern(s string) ArgPattern {
	t, err := ParseArgPattern(s, false)
	if err != nil {
		panic(err)
	}
	return t
}

func rule(id string, do Action, argv ...Element) Rule {
	r := Rule{ID: id, Do: do, Argv: argv, Effects: []string{"read"}}
	if err := r.Compile(); err != nil {
		panic(err)
	}
	return r
}

func rules(list ...Rule) map[string]Ruleset {
	return map[string]Ruleset{"x": {Exec: "/usr/bin/x", Rules: list}}
}

func patterns(list ...string) (all []LinePattern) {
	for _, s := range list {
		p, err := ParseLinePattern(s)
		if err != nil {
			panic(err)
		}
		all = append(all, p)
	}
	return all
}

func decide(p *Policy, args ...string) Verdict {
	return p.Decide(Request{Args: args, GitDirReadOnly: true})
}

// TestMatch checks the matcher against hostile argument lists.
//
// Attacks 48, 49, 50, 52, 54, 56, 57, 93.
func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		name string
		argv []Element
		yes  string // argument lists, separated by |
		no   string
	}{
		{"words", []Element{w("status")}, "status", "|status x|statu|status -s|STATUS|status\n|x status"},
		{"nothing", nil, "", "x|-"},
		{"any", []Element{anyOf("a", "b")}, "a|b", "c||ab|a b"},
		{"alternation is anchored whole", []Element{re("ab|cd")}, "ab|cd", "xab|abx|xcd|cdx|ab cd|abcd"},
		{"pattern", []Element{re("[a-z]{1,3}")}, "a|abc", "abcd|A|a\n|a b||-a"},
		{"a leading - is an option", []Element{re(".{1,9}")}, "x", "-x|-|--|--output=x"},
		{"unless it is spelled out", []Element{re("-j[0-9]{1,2}")}, "-j8", "-j|-j888|j8"},
		{"all of it", []Element{re("-|x.*")}, "x|xy", "-|-x|--output=x"},
		{"and its name", []Element{re("-.{1,9}")}, "", "-x|--|--output"},
		{"or after --", []Element{w("--"), re(".{1,9}")}, "-- -x|-- x", "--|-x|--x"},
		{"flags in any order", []Element{w("s"), flags("-a", "--all"), flags("-b")}, "s|s -a|s -b -a --all|s -a -a", "s -ab|s --al|s -a=1|s -c|-a s"},
		{"option with a value", []Element{opt("--max", "[0-9]{1,4}"), opt("-n", "[0-9]{1,4}")},
			"|--max 5|--max=5|-n 5|-n 5 --max=1", "--max|--max x|--max=|-n5|-n=5|--ma=5|-n --max|-n -1|--max=-1|--max 5 5"},
		{"an option is no value", []Element{opt("-n", ".{1,20}"), flags("--output")}, "-n x", "-n --output|-n -x"},
		{"options end at an argument", []Element{flags("-a"), several("[a-z]{1,9}", 0, 2)}, "|-a|a|-a b c", "a -a|a b c|-a -- b"},
		{"min and max", []Element{several("[a-z]{1,9}", 1, 2)}, "a|a b", "|a b c|a -b|A"},
		{"any number", []Element{several("a", 0, -1), w("b")}, "b|a b|a a a a b", "a|a a|b b"},
		{"gives back", []Element{several("[ab]", 0, 5), w("b"), several("[ab]", 0, 5)}, "b|a b a|b b b", "a|a a|"},
		{"paths", []Element{w("fmt"), file(1, 2)}, "fmt a|fmt a/b c", "fmt|fmt -a|fmt a b c|fmt \xff"},
		{"insert takes nothing", []Element{w("a"), insert("-x", "-y"), w("b")}, "a b", "a|a -x b|a -x -y b"},
		{"other than ASCII", []Element{several(".{1,9}", 0, 3)}, "a", "\u0430pt|a\u202e|\xff|a\x00|a\u3164|\u00a0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rule("r", Allow, tt.argv...)
			check := func(list string, want bool) {
				for text := range strings.SplitSeq(list, "|") {
					var args []string
					if text != "" {
						args = strings.Split(text, " ")
					}
					m := matcher{args: args, stepsLeft: maxSteps}
					if got := m.match(&r); got != want {
						t.Errorf("match(%q) = %v, want %v (%s)", args, got, want, m.why())
					}
				}
			}
			if tt.yes != "" || len(tt.argv) == 0 {
				check(tt.yes, true)
			}
			check(tt.no, false)
		})
	}
}

// TestOrder checks the order of the decision steps. In each case a later step would decide
// otherwise.
//
// Attack 53.
func TestOrder(t *testing.T) {
	all := rules(rule("no", Deny, w("rm")), rule("ask", Ask, several(".{1,9}", 0, 3)), rule("yes", Allow, w("ls")))
	lists := func(p Policy) *Policy {
		p.Auto, p.Manual = patterns("^x ls$"), patterns("^x ls$", "^x up .*$")
		return &p
	}
	proxy := func(do Action, explicit bool) []Command {
		return []Command{{Name: "x", Action: do, Explicit: explicit, Path: "/opt/x"}}
	}
	for _, tt := range []struct {
		name string
		p    *Policy
		args string
		want Action
		rule string
		whole,
		known bool
	}{
		{"1 broken denies all", &Policy{Broken: "x", Commands: proxy(Allow, true)}, "x", Deny, "config", false, false},
		{"2 deny before --proxy", &Policy{Commands: proxy(Allow, true), Rules: all}, "x rm", Deny, "x/no", false, true},
		{"3 --proxy before rules", &Policy{Commands: proxy(Allow, true), Rules: all}, "x ls", Allow, "--proxy x=allow", true, true},
		{"3 ask", lists(Policy{Commands: proxy(Ask, true)}), "x ls", Ask, "--proxy x=ask", true, true},
		{"3 deny", lists(Policy{Commands: proxy(Deny, true)}), "x ls", Deny, "--proxy x=deny", false, true},
		{"4 strictest rule", &Policy{Rules: all}, "x ls", Ask, "x/ask", false, true},
		{"4 rules before plain --proxy", &Policy{Commands: proxy(Allow, false), Rules: all}, "x ls", Ask, "x/ask", false, true},
		{"4 rules before lists", lists(Policy{Rules: rules(rule("a", Allow, w("b")))}), "x ls", Deny, "", false, true},
		{"4 none matches", &Policy{Commands: proxy(Allow, false), Rules: all}, "x a b c d", Deny, "", false, true},
		{"5 auto before manual", lists(Policy{}), "x ls", Allow, "auto_approve ^x ls$", false, true},
		{"5 manual", lists(Policy{}), "x up -d", Ask, "manual_approve ^x up .*$", false, true},
		{"5 manual before plain --proxy", lists(Policy{Commands: proxy(Allow, false)}), "x up -d", Ask, "manual_approve ^x up .*$", true, true},
		{"5 no control characters", lists(Policy{}), "x up \n", Deny, "", false, false},
		{"5 no other than ASCII", lists(Policy{}), "x up \u0430", Deny, "", false, false},
		{"6 plain --proxy", lists(Policy{Commands: proxy(Allow, false)}), "x down", Allow, "--proxy x", true, true},
		{"7 deny", lists(Policy{}), "y", Deny, "", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := decide(tt.p, strings.Split(tt.args, " ")...)
			if v.Action != tt.want || v.Rule != tt.rule || v.Streams.Whole != tt.whole || v.Known() != tt.known {
				t.Errorf("Decide(%q) = %v by %q, whole %v, known %v, want %v by %q, %v, %v",
					tt.args, v.Action, v.Rule, v.Streams.Whole, v.Known(), tt.want, tt.rule, tt.whole, tt.known)
			}
			if v.Action == Deny && v.Reason == "" {
				t.Error("denied without a reason")
			}
			if v.Action != Deny && (len(v.Args) == 0 || v.Args[0] != "x") {
				t.Errorf("runs %q", v.Args)
			}
		})
	}
}

// TestRuns checks the parts that run: prepend, insert, fixed, the program, paths and the streams.
//
// Attack 36.
func TestRuns(t *testing.T) {
	minute := time.Minute
	fixed := rule("fixed", Allow, w("deploy"), several(".{1,9}", 0, 3))
	fixed.Fixed = []string{"up", "-d"}
	forced := Rule{ID: "forced", Do: Ask, Fixed: []string{}, AnyArgs: true}
	if err := forced.Compile(); err != nil {
		t.Fatal(err)
	}
	open := rule("open", Allow, w("open"))
	open.Settings = Settings{TTY: new(bool), Stdin: &Stdin{Mode: StdinPipe}, Output: new(int64), Timeout: &minute, Env: &Env{Pass: []string{"B"}, Set: map[string]string{"PAGER": "less"}}}
	*open.Settings.TTY = true
	p := &Policy{Rules: map[string]Ruleset{
		"x": {
			Exec: "/usr/bin/x", SHA256: "ab", Prepend: []string{"--no-pager"}, Settings: Settings{Env: &Env{Clean: true, Pass: []string{"A"}}},
			Rules: []Rule{rule("diff", Allow, w("diff"), insert("--no-ext-diff"), flags("-a"), file(0, 2)), fixed, open},
		},
		"f": {Rules: []Rule{forced}},
	}, Commands: []Command{{Name: "x", Action: Allow, Path: "/opt/x"}}}

	v := decide(p, "x", "diff", "-a", "b", "c")
	if want := []string{"x", "--no-pager", "diff", "--no-ext-diff", "-a", "b", "c"}; !slices.Equal(v.Args, want) {
		t.Errorf("runs %q, want %q", v.Args, want)
	}
	if len(v.Paths) != 2 || v.Args[v.Paths[0].Index] != "b" || v.Args[v.Paths[1].Index] != "c" {
		t.Errorf("paths %+v of %q", v.Paths, v.Args)
	}
	if v.Command.Path != "/usr/bin/x" || v.SHA256 != "ab" || !v.Env.Clean || !slices.Equal(v.Env.Pass, []string{"A"}) || v.Env.Set["PAGER"] != "cat" {
		t.Errorf("runs %+v", v)
	}
	if v.Streams != (Streams{Output: DefaultOutput}) {
		t.Errorf("streams %+v, want nothing but a cap", v.Streams)
	}
	for _, c := range []Command{{Action: Allow}, {Action: Allow, Explicit: true}, {Action: Ask}} {
		c.Name, c.Path = "pinned", "/opt/other"
		p := &Policy{Rules: map[string]Ruleset{"pinned": {Exec: "/usr/bin/pinned", SHA256: "ab"}}, Commands: []Command{c}}
		if v := decide(p, "pinned"); v.Command.Path != c.Path || v.SHA256 != "ab" {
			t.Errorf("--proxy of a pinned command runs %+v", v)
		}
	}
	if v := decide(p, "x", "deploy", "a", "b"); !slices.Equal(v.Args, []string{"x", "up", "-d"}) || v.Paths != nil {
		t.Errorf("fixed runs %q", v.Args)
	}
	if v := decide(p, "f", "--whatever", "\xff"); !slices.Equal(v.Args, []string{"f"}) || v.Action != Ask {
		t.Errorf("fixed whatever comes: %v %q", v.Action, v.Args)
	}
	v = decide(p, "x", "open")
	if !v.Streams.TTY || v.Streams.Stdin.Mode != StdinPipe || v.Streams.Output != 0 || v.Timeout != minute || v.Env.Set["PAGER"] != "less" || len(v.Env.Pass) != 2 {
		t.Errorf("opened: %+v", v)
	}
}

// TestCodeAsks checks that commands that run container code ask, unless the rule accepts code.
//
// Attacks 59, 90.
func TestCodeAsks(t *testing.T) {
	yes := rule("yes", Allow, several(".{1,20}", 0, 5))
	accepted := yes
	accepted.Accept = true
	declared := yes
	declared.Effects = []string{"code"}
	fixed := yes
	fixed.Fixed = []string{"-c", "true"}
	for _, tt := range []struct {
		name   string
		args   string
		set    Ruleset
		gitDir bool
		want   Action
		code   bool
	}{
		{"make asks", "make test", Ruleset{Rules: []Rule{yes}}, false, Ask, true},
		{"accepted", "make test", Ruleset{Rules: []Rule{accepted}}, false, Allow, true},
		{"by another name", "build x", Ruleset{Exec: "/usr/bin/make", Rules: []Rule{yes}}, false, Ask, true},
		{"declared", "ls x", Ruleset{Rules: []Rule{declared}}, false, Ask, true},
		{"nothing of it", "ls x", Ruleset{Rules: []Rule{yes}}, false, Allow, false},
		{"git", "git status", Ruleset{Rules: []Rule{yes}}, true, Ask, true},
		{"git, .git read-only", "git status", Ruleset{GitDir: GitMount, Rules: []Rule{yes}}, true, Allow, false},
		{"git, .git writable", "git status", Ruleset{GitDir: GitMount, Rules: []Rule{yes}}, false, Ask, true},
		{"git, the host's", "git status", Ruleset{GitDir: GitHost, Rules: []Rule{yes}}, false, Allow, false},
		{"interpreter", "python3.11 x", Ruleset{Rules: []Rule{yes}}, false, Ask, true},
		{"interpreter, fixed", "sh x", Ruleset{Rules: []Rule{fixed}}, false, Allow, false},
		{"verb", "terraform plan", Ruleset{Rules: []Rule{yes}}, false, Ask, true},
		{"other verb", "terraform fmt", Ruleset{Rules: []Rule{yes}}, false, Allow, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := strings.Split(tt.args, " ")
			p := &Policy{Rules: map[string]Ruleset{args[0]: tt.set}}
			if v := p.Decide(Request{Args: args, GitDirReadOnly: tt.gitDir}); v.Action != tt.want || v.Grade.MayRunCode() != tt.code {
				t.Errorf("Decide(%q) = %v, code %v, want %v, %v", tt.args, v.Action, v.Grade.MayRunCode(), tt.want, tt.code)
			}
		})
	}
}

func TestUncompiledRuleDenies(t *testing.T) {
	p := &Policy{
		Commands: []Command{{Name: "x", Action: Allow, Explicit: true}},
		Rules:    rules(Rule{ID: "r", Do: Deny, Argv: []Element{w("y")}}),
	}
	if v := decide(p, "x", "z"); v.Action != Deny {
		t.Errorf("Decide = %v, want deny: a deny rule cannot be matched", v.Action)
	}
}

func TestExplain(t *testing.T) {
	p := &Policy{
		Rules:    rules(rule("push", Ask, w("push"), flags("-u"), w("origin"), re("agent/[a-z]{1,9}")), rule("log", Allow, w("log"), flags("--oneline"), several("[a-z]{1,9}", 0, 1))),
		Commands: []Command{{Name: "x", Action: Allow}},
		Auto:     patterns("^x status$", "^cat .*$"),
	}
	for _, tt := range []struct{ args, rule, why string }{
		{"cat /etc/passwd", "auto_approve ^cat .*$", "argument 1 names a path outside of the workspace, and the pattern does not say anywhere: true"},
		{"x push origin main", "x/push", `argument 3, main, is not one that matches "agent/[a-z]{1,9}"`},
		{"x push", "x/push", "the arguments end where an option of -u, or origin is wanted"},
		{"x log --output=/x", "x/log", `argument 2, --output=/x, is not an option of --oneline, or 0 to 1 matching "[a-z]{1,9}", or the end`},
		{"x log a b", "x/log", "argument 3, b, is not the end"},
		{"x log", "x/push", "argument 1, log, is not push"},
		{"x log", "auto_approve ^x status$", "does not match the line"},
		{"x log", "--proxy x", "matches, but x/log decides: allow"},
		{"x nope", "--proxy x", "matches, but x has rules, and none of them allows this"},
	} {
		v, results := p.Explain(Request{Args: strings.Split(tt.args, " ")})
		if again := p.Decide(Request{Args: strings.Split(tt.args, " ")}); again.Rule != v.Rule || again.Action != v.Action {
			t.Errorf("Explain(%q) decides otherwise than Decide", tt.args)
		}
		i := slices.IndexFunc(results, func(t RuleResult) bool { return t.Name == tt.rule })
		if i < 0 || results[i].Why != tt.why {
			t.Errorf("Explain(%q), %s: %+v, want %q", tt.args, tt.rule, results, tt.why)
		}
		for _, result := range results {
			if result.Decides && result.Action != v.Action {
				t.Errorf("Explain(%q) decides %v, and %s has %v", tt.args, v.Action, result.Name, result.Action)
			}
		}
	}
}
