// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// learnRules are commands of which a person is asked. cat runs in a sandbox where there is one.
const learnRules = `version: 1
audit: {redact: ['token=[a-z]+']}
commands:
  cat: {where: sandbox}
  dirname: {rules: [{id: any, do: ask, effects: [read], argv: [{args: '.*', max: 9}]}]}
`

// approvedCalls are a day's calls that a person approves, most of them once.
func approvedCalls(sandbox bool) (calls []string) {
	if sandbox {
		for _, n := range strings.Fields("0 1 2 3 4 5 6 7 8") {
			calls = append(calls, "cat src/f"+n)
		}
	}
	return append(calls, "seq 1 2", "seq 1 3", "echo *.go", "echo # do: allow", "dirname src/f0", "wc src/f0", "make test", "sh -c true", "echo token=secret")
}

// TestIntegrationLearn approves a day's calls, learns rules from them, and makes the calls again without a question. A
// call that differs is asked about, and so is one with more than its arguments.
func TestIntegrationLearn(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.State, "config.yaml", learnRules, 0o600)
	h.mkdir(t, filepath.Join(h.Work, "src"))
	for _, n := range strings.Fields("0 1 2 3 4 5 6 7 8 9") {
		h.Write(t, filepath.Join(h.Work, "src"), "f"+n, n+"\n", 0o644)
	}
	flags := []string{"--pass-env", "CI"}
	for _, name := range strings.Fields("cat seq echo make sh wc") {
		flags = append(flags, "--proxy", name+"=ask")
	}
	sandbox := sandboxed(t, h)
	c := h.Holding(t, flags...)
	approver(t, h)
	waitUntilAsked(t, c, "hostexec", "seq", "0")
	for _, call := range approvedCalls(sandbox) {
		args := strings.SplitN(call, " ", 3)
		if strings.HasPrefix(call, "echo") { // the rest is one argument
			args = strings.SplitN(call, " ", 2)
		}
		c.varied(t, nil, append([]string{"hostexec"}, args...)...)
	}
	for _, args := range [][]string{{"hostexec", "-d", "seq", "7", "8"}, {"env", "CI=1", "hostexec", "seq", "7", "9"}} { // more than arguments
		c.varied(t, nil, args...)
	}
	denied := c.Start(t, "hostexec", "seq", "1", "9")
	h.Must(t, "hostexec", "deny", "--always", pending(t, h, "seq 1 9", 1)[0].ID)
	want(t, "a denied call", denied.Ended(t).Code, 126)
	learnAndWrite(t, h, sandbox)
	callAgain(t, c, sandbox)
	rule := strings.Fields(h.Must(t, "hostexec", "policy", "ls", "--format", "{{.Rule}} {{.Matches}}"))
	for i, word := range rule {
		if word == "1" && strings.HasPrefix(rule[i-1], "seq/learned-") {
			h.Must(t, "hostexec", "policy", "rm", rule[i-1])
		}
	}
	c.isAsked(t, "hostexec", "seq", "1", "2")
}

// learnAndWrite learns from the log, and confirms the rules at a terminal.
func learnAndWrite(t *testing.T, h *Host, sandbox bool) {
	t.Helper()
	var got struct {
		File  string
		Rules []struct{ Rule, Matches string }
		Left  []struct{ Command, Reason string } `json:"not_proposed"`
		Diff  string
	}
	check(t, json.Unmarshal([]byte(h.Must(t, "hostexec", "policy", "learn", "--since", "1h", "--json")), &got))
	var shapes, reasons []string
	for _, r := range got.Rules {
		name, _, _ := strings.Cut(r.Rule, "/")
		shapes = append(shapes, name+" "+r.Matches)
	}
	for _, s := range got.Left {
		reasons = append(reasons, s.Command+": "+s.Reason)
	}
	rules := "dirname src/f0; echo '# do: allow'|'*.go'; seq 1 2|3"
	if sandbox {
		rules = `cat /src(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)+/ (confined); ` + rules
	}
	want(t, "rules", strings.Join(shapes, "; "), rules)
	want(t, "reasons", strings.Join(reasons, "; "), "seq: its question was about more than its arguments; : the log does not have all of the arguments: they are long or redacted; "+
		"make: it runs code that the container may have written: where: sandbox confines it; sh: sh runs what its arguments say; wc: it reads files, and the container may put a link to another file of this host there: where: sandbox confines it")
	if r := h.feed(t, "n\n", "docker", "hostexec", "policy", "learn", "--write"); r.Code != 1 || !strings.Contains(r.Err, "not written") {
		t.Errorf("without a confirmation: %v", r)
	}
	_, err := os.Stat(got.File)
	want(t, "nothing is written", os.IsNotExist(err), true)
	m := h.term(t, "docker", "hostexec", "policy", "learn", "--write")
	m.Expect(t, "+commands:")
	m.Expect(t, "[y/N] ")
	m.Type(t, "y\r")
	m.Expect(t, "seq/learned-")
	want(t, "learn --write", m.Wait(t), 0)
	text, err := os.ReadFile(got.File)
	check(t, err)
	if strings.Contains(string(text), "token=") {
		t.Errorf("a secret is in %s", text)
	}
	want(t, "policy check", h.Docker(t, "hostexec", "policy", "check").Code, 0)
}

// callAgain makes the approved calls again, and calls that resemble them.
func callAgain(t *testing.T, c *Container, sandbox bool) {
	t.Helper()
	c.unasked(t, "1\n2\n", "hostexec", "seq", "1", "2")
	c.unasked(t, "*.go\n", "hostexec", "echo", "*.go")
	c.unasked(t, "# do: allow\n", "hostexec", "echo", "# do: allow")
	c.unasked(t, "src\n", "hostexec", "dirname", "src/f0")
	if sandbox {
		c.unasked(t, "9\n", "hostexec", "cat", "src/f9")
		c.isAsked(t, "hostexec", "cat", "src/../src/f9")
		c.isAsked(t, "hostexec", "cat", "other/f9")
	}
	if lines := c.Host.Audit(t, "HOSTEXEC AUTO_APPROVE", "rule=seq/learned-"); len(lines) != 1 {
		t.Errorf("the log has %q", lines)
	}
	for _, args := range [][]string{{"seq", "1", "4"}, {"echo", "x.go"}, {"dirname", "src/f1"}, {"wc", "src/f0"}, {"make", "test"}, {"sh", "-c", "true"}, {"echo", "token=secret"}, {"-d", "seq", "1", "2"}} {
		c.isAsked(t, append([]string{"hostexec"}, args...)...)
	}
	want(t, "a call that was denied before", c.Exec(t, "timeout", "60", "hostexec", "seq", "1", "9").Code, 126)
	c.isAsked(t, "env", "CI=1", "hostexec", "seq", "1", "2")
}

// isAsked checks that a person is asked about a call.
func (c *Container) isAsked(t *testing.T, args ...string) {
	t.Helper()
	call := c.Start(t, args...)
	q := pending(t, c.Host, args[len(args)-1], 1)
	c.Host.Must(t, "hostexec", "deny", q[0].ID)
	call.Ended(t)
}
