// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/gitpush"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// ruled returns a policy with rules for the command x. Each has the forms "run N".
func ruled(do policy.Action, words ...string) *policy.Policy {
	set := policy.Ruleset{}
	for _, w := range words {
		argv := []policy.Element{{Kind: policy.KindWord, Words: []string{"run"}}, {Kind: policy.KindWord, Words: []string{w}}}
		set.Rules = append(set.Rules, policy.Rule{ID: "secret-id", Do: do, Reason: "secret reason", Position: "/secret/config.yaml:1", Effects: []string{"read"}, Argv: argv})
	}
	return &policy.Policy{Rules: map[string]policy.Ruleset{"x": set}}
}

func TestAgents(t *testing.T) {
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint("n", i))
	}
	plain := func(name string, a policy.Action) *policy.Policy {
		return &policy.Policy{Commands: []policy.Command{{Name: name, Action: a, Path: "/secret/bin/" + name}}}
	}
	for _, tt := range []struct {
		name       string
		p          *policy.Policy
		want, lack string
	}{
		{"nothing", &policy.Policy{}, "No command is listed.\n", "###"},
		{"broken", &policy.Policy{Broken: "/secret/config.yaml:3", Commands: plain("make", policy.Allow).Commands}, "every call is refused.", "Runs"},
		{"plain", plain("make", policy.Allow), "### make\n\nRuns without a question:\n\n    make (anything)\n", "Waits"},
		{"asked", plain("make", policy.Ask), "Waits for a person:\n\n    make (anything)\n", "Runs"},
		{"denied", plain("make", policy.Deny), "Refused:\n\n    make (anything)\n", "Runs"},
		{"rules", ruled(policy.Allow, "a", "b c"), "Runs without a question:\n\n    hostexec x run a\n    hostexec x run 'b c'\n", "Refused:\n"},
		{"control characters", ruled(policy.Ask, "\x1b[2J\n# Evil"), `    hostexec x run $'\033[2J\n# Evil'` + "\n", "\x1b"},
		{"many forms", ruled(policy.Deny, many...), "    hostexec x run n19\n    (more: hostexec ls --json)\n", "n20"},
		{"a long form", ruled(policy.Deny, strings.Repeat("y", 400)), "Refused:\n\n    (more: hostexec ls --json)\n", "yyy"},
		{"shells", plain(policy.Shell, policy.Allow), "`hostexec session --help`", ""},
		{"git-push", plain(policy.GitPush, policy.Allow), "    git-push push REMOTE BRANCH\n    git-push remote REMOTE URL\n\nThese are operations of git", ""},
		{"git-push=deny", plain(policy.GitPush, policy.Deny), "Refused:\n", "operations of git"},
		{"a sandbox", &policy.Policy{Commands: []policy.Command{{Name: "make", Action: policy.Allow, Placed: true, Place: policy.Place{Sandboxed: true}}}}, "\nIt runs in a sandbox: ", ""},
	} {
		got := Agents(tt.p, gitpush.Remotes{"origin": "git@example.org:r\x1b.git"})
		if !strings.Contains(got, tt.want) || tt.lack != "" && strings.Contains(got, tt.lack) || strings.Contains(got, "secret") {
			t.Errorf("%s: want %q, not %q, in:\n%s", tt.name, tt.want, tt.lack, got)
		}
		for _, part := range []string{"# Commands of the host\n", "\n## When a call is refused\n", "\n## How to ask well\n"} {
			if strings.Count(got, part) != 1 {
				t.Errorf("%s: %d times %q", tt.name, strings.Count(got, part), part)
			}
		}
		if bad := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }); bad >= 0 {
			t.Errorf("%s: %q is not printable", tt.name, got[bad:min(len(got), bad+20)])
		}
	}
}

// TestAgentsLimit describes the largest policies in a text of limited size.
func TestAgentsLimit(t *testing.T) {
	p := &policy.Policy{Rules: map[string]policy.Ruleset{}}
	var words []string
	for i := range 40 {
		words = append(words, fmt.Sprint(i, strings.Repeat("w", maxAgentShape-30)))
	}
	for i := range 50 {
		p.Rules[fmt.Sprint("c", i)] = ruled(policy.Allow, words...).Rules["x"]
	}
	if got := Agents(p, nil); len(got) > 2*maxAgents || len(got) < maxAgents || !strings.Contains(got, "\nmore: hostexec ls --json\n") {
		t.Errorf("%d bytes, %d commands", len(got), strings.Count(got, "\n### "))
	}
}

// TestAgentsMessages checks that the messages which the text for agents quotes are messages of exec/call.
func TestAgentsMessages(t *testing.T) {
	var code strings.Builder
	files, err := filepath.Glob("../call/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	messages := regexp.MustCompile("`([a-z ]+): \\.\\.\\.`").FindAllStringSubmatch(agentsText, -1)
	if len(messages) < 2 {
		t.Errorf("the text has the messages %q, want two or more", messages)
	}
	for _, m := range messages {
		if !strings.Contains(code.String(), m[1]) {
			t.Errorf("no call prints %q", m[1])
		}
	}
}
