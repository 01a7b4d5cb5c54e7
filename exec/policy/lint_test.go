// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

func one(name string, r Rule, more ...func(*Ruleset)) *Policy {
	set := Ruleset{Rules: []Rule{r}}
	for _, f := range more {
		f(&set)
	}
	return &Policy{Rules: map[string]Ruleset{name: set}}
}

func with(r Rule, f func(*Rule)) Rule { f(&r); return r }

var (
	free = several("[a-z]{1,9}", 0, 2)
	yes  = true
)

func silent(r *Rule) { r.Effects = nil }

func anywhere(list ...string) []LinePattern {
	all := patterns(list...)
	for i := range all {
		all[i].Anywhere = true
	}
	return all
}

func tested(r *Rule) { r.MustNotMatch = [][]string{{"-x"}} }

var lints = []struct {
	name  string
	p     *Policy
	fatal bool
	want  string // part of the first problem; empty: no problem
}{
	{"nothing", one("ls", with(rule("r", Allow, free), tested)), false, ""},
	{"interpreter", one("python3", with(rule("r", Allow, free), tested)), true, "runs what its arguments say"},
	{"interpreter in a container", one("python3", with(rule("r", Allow, free), tested), func(s *Ruleset) { s.Place.Image = "img" }), false, ""},
	{"wrapper by its program", one("run", with(rule("r", Allow, free), tested), func(s *Ruleset) { s.Exec = "/usr/bin/env" }), true, "runs what its arguments say"},
	{"interpreter that asks", one("sh", with(rule("r", Ask, free), tested)), false, "runs what its arguments say"},
	{"interpreter, named", one("sh", rule("r", Ask, w("x.sh"))), false, ""},
	{"interpreter, allowed by name", one("sh", rule("r", Allow, w("x.sh"))), true, "so allow asks: write accept: host-code-execution to allow it, or where: sandbox to confine it"},
	{"interpreter, fixed", one("sh", with(rule("r", Allow, w("go")), func(r *Rule) { r.Fixed = []string{"/x.sh"} })), false, ""},
	{"verb", one("terraform", rule("r", Allow, w("plan"))), true, "so allow asks: write accept: host-code-execution to allow it, or where: sandbox to confine it"},
	{"verb that looks", one("terraform", rule("r", Allow, w("fmt"))), false, ""},
	{"build tool", one("make", rule("r", Allow, w("test"))), true, "write accept: host-code-execution"},
	{"no effects", one("kubectl", with(rule("r", Allow, w("get")), silent)), true, "effects is missing, and kubectl is not known to be harmless"},
	{"no effects, but accepted", one("kubectl", with(rule("r", Allow, w("get")), func(r *Rule) { r.Effects, r.Accept = nil, true })), false, ""},
	{"no effects that asks", one("kubectl", with(rule("r", Ask, w("get")), silent)), false, ""},
	{"no effects in a container", one("kubectl", with(rule("r", Allow, w("get")), silent), func(s *Ruleset) { s.Place.Image = "img" }), false, ""},
	{"no effects, harmless", one("uname", with(rule("r", Allow, w("-a")), silent)), false, ""},
	{"no effects, fixed", one("sh", with(rule("r", Allow, w("go")), func(r *Rule) { r.Fixed, r.Effects = []string{"/x.sh"}, nil })), true, "effects is missing"},
	{"harmless by another name", one("show", with(rule("r", Allow, w("-a")), silent), func(s *Ruleset) { s.Exec = "/usr/bin/uname" }), true, "show (uname) is not known"},
	{"unknown verb of a known tool", one("gh", rule("r", Allow, w("pr"), anyOf("list", "create"))), true, "so allow asks: write accept"},
	{"link", &Policy{Rules: map[string]Ruleset{"mk": {Rules: []Rule{rule("r", Allow, w("test"))}}}, Programs: map[string][]string{"mk": {"mk", "make"}}}, true, "mk (make) runs code"},
	{"path", one("ls", with(rule("r", Allow, re("[a-z./]+")), tested)), true, "\"[a-z./]+\" matches /, a path outside"},
	{"path that asks", one("ls", with(rule("r", Ask, re("[a-z./]+")), tested)), false, ""},
	{"path, anywhere", one("ls", with(rule("r", Allow, re("[a-z./]+")), func(r *Rule) { tested(r); r.Anywhere = true })), false, ""},
	{"path in a container", one("ls", with(rule("r", Allow, re("[a-z./]+")), tested), func(s *Ruleset) { s.Place.Image = "img" }), false, ""},
	{"path of no consequence", one("ls", with(rule("r", Allow, re("[a-z./]+")), func(r *Rule) { tested(r); r.Fixed = []string{"x"} })), false, ""},
	{"path as a value", one("ls", with(rule("r", Allow, opt("--to", "~?[a-z]{1,9}")), tested)), true, "matches '~a'"},
	{"path among arguments", one("ls", with(rule("r", Allow, several("a/[a-z.]{1,2}", 0, 3)), tested)), true, "matches a/.."},
	{"build tool, accepted", one("make", with(rule("r", Allow, w("test")), func(r *Rule) { r.Accept = true })), false, ""},
	{"wild", one("ls", with(rule("r", Allow, re("x.*")), tested)), true, "matches anything"},
	{"wild that asks", one("ls", with(rule("r", Ask, re(".+")), tested)), false, "matches anything"},
	{"leading -", one("ls", with(rule("r", Allow, re(".{1,5}")), tested)), false, "could match a leading -"},
	{"leading - after --", one("ls", with(rule("r", Allow, w("--"), re("[a-z-]{1,5}")), tested)), false, ""},
	{"no max", one("ls", with(rule("r", Allow, several("a", 0, -1)), tested)), true, "args without max"},
	{"no test.no", one("ls", rule("r", Allow, free)), false, "no test.no"},
	{"git", one("git", rule("r", Allow, w("status"))), true, "without gitdir"},
	{"git that asks", one("git", rule("r", Ask, w("status"))), false, "without gitdir"},
	{"git, host", one("git", rule("r", Allow, w("status")), func(s *Ruleset) { s.GitDir = GitHost }), true, "neither prepend has --git-dir"},
	{"git, read-only", one("git", rule("r", Allow, w("status")), func(s *Ruleset) { s.GitDir = GitMount }), false, ""},
	{"build tool in a sandbox", one("make", rule("r", Allow, w("test")), func(s *Ruleset) { s.Place.Sandboxed = true }), false, ""},
	{"docker run", one("docker", rule("r", Allow, w("run"), w("x"))), true, "root-equivalent"},
	{"docker compose up", one("docker", rule("r", Ask, w("compose"), w("up"))), false, "root-equivalent"},
	{"docker compose of the host's", one("docker", rule("r", Ask, w("compose"), insert("-f", "/x"), w("up"))), false, ""},
	{"docker ps", one("docker", rule("r", Allow, w("ps"))), false, ""},
	{"docker --host", one("docker", with(rule("r", Allow, opt("--host", "[a-z]{1,9}"), w("ps")), tested)), true, "root-equivalent"},
	{"stdin", one("kubectl", with(rule("r", Allow, w("apply")), func(r *Rule) { r.Settings.Stdin = &Stdin{Mode: StdinPipe} })), true, "lets the caller say what runs"},
	{"preview of a rule that never asks", one("make", rule("r", Allow, w("test")), func(s *Ruleset) { s.Place.Sandboxed, s.Rules[0].Preview = true, []string{"-n"} }), false, "preview has no effect"},
	{"preview with a sandbox", one("make", rule("r", Ask, w("test")), func(s *Ruleset) { s.Rules[0].Preview, s.Sandbox.Read = []string{"-n"}, []string{"/x"} }), false, ""},
	{"preview with credentials", one("make", rule("r", Ask, w("test")), func(s *Ruleset) { s.Rules[0].Preview, s.Sandbox.Creds = []string{"-n"}, []string{"/x"} }), false, "sandbox has no effect"},
	{"pager", one("gh", with(rule("r", Allow, w("status")), func(r *Rule) { r.Settings.TTY = &yes })), true, "start a pager"},
	{"shadowed", &Policy{Rules: rules(rule("a", Ask, w("b")), rule("r", Allow, w("b")))}, true, "never decides: x/a"},
	{"its own test", one("ls", with(rule("r", Allow, w("a")), func(r *Rule) { r.MustMatch = [][]string{{"b"}} })), true, "its own test fails"},
	{"its other test", one("ls", with(rule("r", Allow, w("a")), func(r *Rule) { r.MustNotMatch = [][]string{{"a"}} })), true, "matches, and must not"},
	{"unanchored", &Policy{Auto: patterns("git status")}, true, "not anchored"},
	{"half anchored", &Policy{Auto: patterns("^git status")}, true, "not anchored"},
	{"anchored by halves", &Policy{Auto: patterns("^git status|git log$")}, true, "not anchored"},
	{"anchored alternation", &Policy{Auto: patterns("^(git status|git log)$", "^a$|^b$", `\Ax\z`)}, false, ""},
	{"unanchored that asks", &Policy{Manual: patterns("git")}, false, "not anchored"},
	{"interpreter in a list", &Policy{Auto: patterns("^sh -c .*$")}, true, "runs what its arguments say"},
	{"wild in a list", &Policy{Auto: patterns("^ls .*$")}, true, "a path outside of the workspace"},
	{"wild in a list, anywhere", &Policy{Auto: anywhere("^ls .*$")}, false, "lets any arguments through"},
	{"docker run in a list", &Policy{Auto: patterns("^docker run x$")}, true, "root-equivalent"},
	{"docker compose ps in a list", &Policy{Auto: patterns("^docker compose ps$")}, false, ""},
	{"build tool in a list", &Policy{Auto: patterns("^make test$")}, false, "HOST CODE EXECUTION"},
	{"path in a list", &Policy{Auto: patterns("^ls [a-z/.]{1,9}$")}, true, "matches \"ls /\""},
	{"path in a list that asks", &Policy{Manual: patterns("^ls [a-z/.]{1,9}$")}, false, ""},
	{"path in a list, spelled out", &Policy{Auto: patterns("^ls /etc/hosts$")}, false, ""},
	{"words in a list", &Policy{Auto: patterns("^ls (-l )?[a-z0-9_-]{1,9}( main[.]{2}dev)?$")}, false, ""},
	{"verb in a list", &Policy{Auto: patterns("^terraform show$")}, false, "HOST CODE EXECUTION"},
	{"list behind rules", &Policy{Auto: patterns("^x y$"), Rules: rules(rule("r", Allow, w("y")))}, false, "never looked at"},
}

// Attacks 59, 67, 90, 216.
func TestLint(t *testing.T) {
	for _, tt := range lints {
		t.Run(tt.name, func(t *testing.T) {
			all := tt.p.Lint()
			switch {
			case tt.want == "" && len(all) > 0:
				t.Errorf("Lint = %v, want nothing", all)
			case tt.want != "" && (len(all) == 0 || !strings.Contains(all[0].Text, tt.want) || all[0].Fatal != tt.fatal):
				t.Errorf("Lint = %v, want %q, fatal %v", all, tt.want, tt.fatal)
			}
		})
	}
}
