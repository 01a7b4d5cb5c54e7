// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// dayRules is the policy of an agent's day, apart from the action of tests and the rule of git-push. %s are the action
// of tests, a directory with programs, and that rule.
const dayRules = `version: 1
approval: {wait: always}
git: {remotes: {origin: %[2]s/remote.git}}
commands:
  make:
    where: sandbox
    rules: [{id: test, do: %[1]s, effects: [read, write], argv: [test]}]
  gh:
    exec: %[2]s/tools/gh
    rules:
      - {id: view, do: ask, effects: [read, network], argv: [pr, view, {re: '[0-9]+'}]}
      - {id: create, do: ask, effects: [network, write], argv: [pr, create, --fill]}
  edit:
    exec: %[2]s/tools/edit
    rules: [{id: file, do: ask, effects: [read, write], argv: [{path: ws, type: file, snapshot: false}]}]
%[3]s`

// dayPush permits pushes to the agent's own branches.
const dayPush = `  git-push:
    rules: [{id: agent, do: allow, argv: [push, origin, {re: 'agent/[a-z]+'}]}]
`

// rounds of an agent's day have five calls each: edit, test, push, pull request and a look at one.
const rounds = 6

// maxDayQuestions is how many questions a day may have.
const maxDayQuestions = 3

// day makes the calls of an agent's day in a container. grant returns how the person answers the question about a
// command: the flags of approve. It returns the number of questions.
func day(t *testing.T, h *Host, c *Container, grant func(command string) []string) int {
	t.Helper()
	for i := range rounds {
		for _, args := range [][]string{
			{"hostexec", "edit", fmt.Sprintf("src/file%d", i)},
			{"hostexec", "make", "test"},
			{"bash", "-c", aCommit + "git push -q origin main:agent/x"},
			{"hostexec", "gh", "pr", "create", "--fill"},
			{"hostexec", "gh", "pr", "view", itoa(40 + i)},
		} {
			call := c.Start(t, args...)
			check(t, call.In.Close())
			var waiting []question
			eventually(t, patience, "it ends, or is asked about", func() bool {
				if len(call.end) == 0 {
					waiting = questions(t, h)
				}
				return len(call.end) > 0 || len(waiting) > 0
			})
			for _, q := range waiting {
				h.Must(t, append(append([]string{"hostexec", "approve"}, grant(q.Command)...), q.ID)...)
			}
			if r := call.Ended(t); r.Code != 0 {
				t.Fatalf("%q: %v", args, r)
			}
		}
	}
	return len(h.Audit(t, "HOSTEXEC REQUEST"))
}

// dayContainer starts a container for a day under the policy text.
func dayContainer(t *testing.T, h *Host, tests, push string) (c *Container, text string) {
	t.Helper()
	gitHost(t, h)
	tools := filepath.Join(h.Home, "tools")
	h.mkdir(t, tools)
	h.Write(t, tools, "gh", "#!/bin/sh\necho \"gh $*\"\n", 0o755) // stands for GitHub, which no test asks
	h.Write(t, tools, "edit", "#!/bin/sh\necho edited >>\"$1\"\n", 0o755)
	h.Write(t, h.Work, "Makefile", "test:\n\t@grep -q edited src/file0\n", 0o644)
	text = fmt.Sprintf(dayRules, tests, h.Home, push)
	h.Write(t, h.State, "config.yaml", text, 0o600)
	c = gitContainer(t, h)
	want(t, "files", c.Sh(t, "mkdir src && touch src/file0 src/file1 src/file2 src/file3 src/file4 src/file5 && chmod -R a+w src").Code, 0)
	return c, text
}

// TestIntegrationAgentDay makes the same 30 calls twice: with approvals of exactly the same call for this session, and
// with a rule for pushes, tests in a sandbox, and approvals in which one argument varies. The second has at most three
// questions.
func TestIntegrationAgentDay(t *testing.T) {
	if h := newHost(t, false); !sandboxed(t, h) {
		return
	}
	h := newHost(t, false)
	c, _ := dayContainer(t, h, "ask", "")
	before := day(t, h, c, func(string) []string { return []string{"--always"} })

	h = newHost(t, false)
	c, text := dayContainer(t, h, "allow", dayPush)
	after := day(t, h, c, func(command string) []string {
		switch {
		case strings.HasPrefix(command, "edit "):
			return []string{"--always", "--vary", "1=path"}
		case strings.HasPrefix(command, "gh pr view "):
			return []string{"--always", "--vary", "3=number"}
		}
		return []string{"--always"}
	})
	t.Logf("%d calls: %d questions with exact approvals, %d with rules and arguments that vary, by this policy:\n%s", 5*rounds, before, after, text)
	t.Logf("the grants:\n%s", h.Must(t, "hostexec", "policy", "ls"))
	for round := range rounds {
		want(t, fmt.Sprintf("edits of file%d", round), string(readFile(t, filepath.Join(h.Work, "src", fmt.Sprintf("file%d", round)))), "edited\n")
	}
	want(t, "pushes that ran", len(h.Audit(t, "HOSTEXEC START", "refs/heads/agent/x")), rounds)
	if after > maxDayQuestions || after >= before {
		t.Errorf("%d questions, want at most %d; there were %d with exact approvals", after, maxDayQuestions, before)
	}
}
