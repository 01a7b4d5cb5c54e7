// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

// TestOutside checks that a pattern match with a path outside of the workspace asks. This holds
// even if nobody ran policy check.
//
// Attack 63.
func TestOutside(t *testing.T) {
	wild := rule("r", Allow, w("cat"), flags("-n", "-I/usr"), opt("--to", "[a-z./~]{1,30}"), several("[a-z./~]{1,40}", 0, 3))
	after := rule("after", Allow, w("rm"), w("--"), several("[a-z./-]{1,40}", 0, 3))
	spelled := rule("spelled", Allow, w("show"), anyOf("/etc/hosts", "../x"), file(0, 1))
	fixed := rule("fixed", Allow, w("do"), several(".{1,40}", 0, 3))
	fixed.Fixed = []string{"up"}
	deny := rule("deny", Deny, w("no"), several(".{1,40}", 0, 3))
	for _, tt := range []struct {
		args      string
		want      Action
		askReason string // a part of the reason
	}{
		{"x cat a/b", Allow, ""},
		{"x cat -n --to a/b a/b", Allow, ""},
		{"x cat -I/usr a", Allow, ""},
		{"x cat a d/../../../../home/me/.ssh", Ask, "argument 3 names a path outside of the workspace"},
		{"x cat /x", Ask, "argument 2 names"},
		{"x cat ~", Ask, "argument 2 names"},
		{"x cat a/..", Ask, "argument 2 names"},
		{"x cat --to ../x a", Ask, "argument 3 names"},
		{"x cat --to=/x", Ask, "argument 2 names"},
		{"x rm -- -a/b", Allow, ""},
		{"x rm -- -a/..", Ask, "argument 3 names"},
		{"x show /etc/hosts f", Allow, ""},
		{"x show ../x /etc/passwd", Allow, ""}, // a path element is resolved below the mounts
		{"x do /x ../y", Allow, ""},
		{"x no /x", Deny, ""},
	} {
		p := &Policy{Rules: rules(wild, after, spelled, fixed, deny)}
		v := decide(p, strings.Split(tt.args, " ")...)
		if v.Action != tt.want || !strings.Contains(v.AskReason, tt.askReason) || (v.AskReason == "") != (tt.askReason == "") {
			t.Errorf("Decide(%q) = %v, askReason %q, want %v, %q", tt.args, v.Action, v.AskReason, tt.want, tt.askReason)
		}
		for i := range p.Rules["x"].Rules {
			p.Rules["x"].Rules[i].Anywhere = true
		}
		if v := decide(p, strings.Split(tt.args, " ")...); v.Action == Ask || v.AskReason != "" {
			t.Errorf("anywhere: Decide(%q) = %v, askReason %q", tt.args, v.Action, v.AskReason)
		}
	}
	contained := Ruleset{Place: Place{Image: "img"}, Rules: []Rule{wild}}
	if v := decide(&Policy{Rules: map[string]Ruleset{"x": contained}}, "x", "cat", "/x"); v.Action != Allow {
		t.Errorf("in a container: %v", v.Action)
	}
}

// TestOutsideOfLists checks the same for lines of auto_approve.
//
// Attack 63.
func TestOutsideOfLists(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    Policy
		args string
		want Action
		rule string
	}{
		{"inside", Policy{Auto: patterns("^x .*$")}, "x a/b", Allow, "auto_approve ^x .*$"},
		{"outside", Policy{Auto: patterns("^x .*$")}, "x a /etc/passwd", Ask, "auto_approve ^x .*$"},
		{"a value", Policy{Auto: patterns("^x .*$")}, "x --to=../a", Ask, "auto_approve ^x .*$"},
		{"anywhere", Policy{Auto: anywhere("^x .*$")}, "x /etc/passwd", Allow, "auto_approve ^x .*$"},
		{"spelled out", Policy{Auto: patterns("^x /etc/hosts$")}, "x /etc/hosts", Allow, "auto_approve ^x /etc/hosts$"},
		{"by another pattern", Policy{Auto: patterns("^x .*$", "^x /etc/hosts$")}, "x /etc/hosts", Allow, "auto_approve ^x /etc/hosts$"},
		{"asked anyway", Policy{Manual: patterns("^x .*$")}, "x /etc/passwd", Ask, "manual_approve ^x .*$"},
		{"proxied as a whole", Policy{Auto: patterns("^x .*$"), Commands: []Command{{Name: "x", Action: Allow}}}, "x /etc/passwd", Allow, "auto_approve ^x .*$"},
		{"in a container", Policy{Auto: patterns("^x .*$"), Rules: map[string]Ruleset{"x": {Place: Place{Image: "img"}}}}, "x /etc/passwd", Allow, "auto_approve ^x .*$"},
	} {
		v := decide(&tt.p, strings.Split(tt.args, " ")...)
		if v.Action != tt.want || v.Rule != tt.rule || (v.AskReason != "") != (tt.want == Ask && len(tt.p.Manual) == 0) {
			t.Errorf("%s: Decide(%q) = %v by %s, askReason %q, want %v by %s", tt.name, tt.args, v.Action, v.Rule, v.AskReason, tt.want, tt.rule)
		}
	}
}

// TestEffects checks that a rule that allows asks unless it states effects. Stated effects do not
// count for a command that is known to run code.
//
// Attack 216.
func TestEffects(t *testing.T) {
	for _, tt := range []struct {
		line    string
		without Action // if the rule states no effects
		with    Action // if the rule states read
	}{
		{"ls -l", Allow, Allow}, {"date", Allow, Allow}, {"uname -a", Allow, Allow}, {"cat f", Allow, Allow}, {"base64 f", Allow, Allow},
		{"kubectl get pods", Ask, Allow}, {"mytool", Ask, Allow}, {"true1", Ask, Allow}, {"lss", Ask, Allow}, {"sort f", Ask, Allow},
		{"terraform fmt", Allow, Allow}, {"terraform version", Allow, Allow}, {"terraform show", Ask, Ask}, {"terraform output", Ask, Ask},
		{"terraform -chdir=x fmt", Ask, Ask}, {"terraform", Ask, Ask}, {"tofu providers", Ask, Ask}, {"terragrunt plan", Ask, Ask},
		{"docker ps", Allow, Allow}, {"docker stop web", Ask, Allow}, {"docker build x", Ask, Ask}, {"docker scout", Ask, Ask}, {"docker logs run", Allow, Allow},
		{"docker compose ps", Ask, Allow}, {"docker compose ls", Allow, Allow}, {"m4 x", Ask, Ask}, {"sqlite3 x", Ask, Ask}, {"run0 x", Ask, Ask}, {"docker compose up", Ask, Ask}, {"podman run x", Ask, Ask},
		{"gh pr list", Allow, Allow}, {"gh pr create", Ask, Ask}, {"gh pr checkout 1", Ask, Ask}, {"gh api user", Ask, Allow}, {"gh mine", Ask, Ask},
		{"gh repo clone x", Ask, Ask}, {"gh extension exec x", Ask, Ask},
		{"gmake", Ask, Ask}, {"bsdmake", Ask, Ask}, {"pmake", Ask, Ask}, {"bmake all", Ask, Ask}, {"colormake", Ask, Ask}, {"ctest", Ask, Ask},
		{"jest", Ask, Ask}, {"vitest run", Ask, Ask}, {"pytest-3", Ask, Ask}, {"py.test", Ask, Ask}, {"rspec", Ask, Ask}, {"phpunit", Ask, Ask},
		{"eslint .", Ask, Ask}, {"eslint.js", Ask, Ask}, {"prettier x", Ask, Ask}, {"stylelint", Ask, Ask}, {"rubocop", Ask, Ask}, {"golangci-lint run", Ask, Ask},
		{"ansible-playbook x", Ask, Ask}, {"ansible-lint", Ask, Ask}, {"pulumi up", Ask, Ask}, {"cdk synth", Ask, Ask},
		{"direnv exec", Ask, Ask}, {"mise x", Ask, Ask}, {"dotenv x", Ask, Ask}, {"nodemon", Ask, Ask},
		{"hg status", Ask, Ask}, {"jj log", Ask, Ask}, {"git-lfs ls-files", Ask, Ask}, {"tig", Ask, Ask},
		{"python3.12 x", Ask, Ask}, {"sh x", Ask, Ask}, {"env x", Ask, Ask}, {"busybox ls", Ask, Ask}, {"vim.basic", Ask, Ask},
	} {
		args := strings.Split(tt.line, " ")
		r := rule("r", Allow, several(".{1,20}|-.*", 0, 5), several("-chdir=x", 0, 1))
		if strings.Contains(tt.line, " -") {
			r = rule("r", Allow, w(args[1]), several("[a-z]{1,9}", 0, 3))
		}
		for _, try := range []struct {
			effects []string
			want    Action
		}{{nil, tt.without}, {[]string{"read"}, tt.with}, {[]string{"read", "code"}, Ask}} {
			r.Effects, r.Accept = try.effects, false
			v := (&Policy{Rules: map[string]Ruleset{args[0]: {Rules: []Rule{r}}}}).Decide(Request{Args: args, GitDirReadOnly: true})
			if v.Action != try.want || v.Grade.MayRunCode() != (try.want == Ask) || (v.AskReason != "") != (try.want == Ask) {
				t.Errorf("%s, effects %q: %v, code %v, askReason %q, want %v", tt.line, try.effects, v.Action, v.Grade.MayRunCode(), v.AskReason, try.want)
			}
			r.Accept = true
			v = (&Policy{Rules: map[string]Ruleset{args[0]: {Rules: []Rule{r}}}}).Decide(Request{Args: args, GitDirReadOnly: true})
			if v.Action != Allow || v.Grade.MayRunCode() != (try.want == Ask) {
				t.Errorf("%s, effects %q, accepted: %v, code %v", tt.line, try.effects, v.Action, v.Grade.MayRunCode())
			}
		}
	}
}

// TestPrograms checks that a command also has the names of its link targets. A multi-call program
// has only the name under which it starts.
//
// Attack 216.
func TestPrograms(t *testing.T) {
	for _, tt := range []struct {
		name     string
		exec     string
		programs string
		want     toolKind
	}{
		{"ls", "", "", harmless},
		{"ls", "/bin/ls", "ls", harmless},
		{"ls", "/bin/ls", "ls busybox", harmless},
		{"date", "/bin/busybox", "busybox", harmless},
		{"ls", "/bin/ls", "ls coreutils", harmless},
		{"sh", "/bin/sh", "sh busybox", runsCode},
		{"busybox", "", "busybox", runsCode},
		{"coreutils", "", "coreutils", runsCode},
		{"mk", "/usr/local/bin/mk", "mk make", runsCode},
		{"mk", "/usr/local/bin/mk", "mk gmake-4.3", runsCode},
		{"mk", "", "mk other gmake", runsCode},
		{"ls", "/usr/local/bin/ls", "ls make", runsCode},
		{"ls", "/opt/mine", "mine", unknown},
		{"mine", "/bin/ls", "ls", unknown},
		{"lint", "/usr/local/bin/lint", "lint eslint.js", runsCode},
		{"py", "/usr/bin/py", "py python3 python3.12", runsCode},
	} {
		p := &Policy{Programs: map[string][]string{tt.name: strings.Fields(tt.programs)}}
		if got := p.programs(tt.name, tt.exec).kind(nil, false, true); got != tt.want {
			t.Errorf("%s, %s, %s: %v, want %v", tt.name, tt.exec, tt.programs, got, tt.want)
		}
	}
}
