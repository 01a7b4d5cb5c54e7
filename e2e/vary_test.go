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

// varyRules are commands of which a person is asked, and whose arguments may vary.
const varyRules = `version: 1
commands:
  cat: {rules: [{id: any, do: ask, effects: [read], argv: [{flags: [-u]}, {args: '.*', min: 0, max: 9}]}]}
  head: {prepend: [-q], rules: [{id: any, do: ask, effects: [read], argv: [-c, {re: '[0-9]+'}, {re: '.*'}]}]}
  make: {rules: [{id: any, do: ask, argv: [{args: '.*', max: 9}]}]}
`

// unasked makes a call that a grant must cover.
func (c *Container) unasked(t *testing.T, out string, args ...string) {
	t.Helper()
	r := c.Exec(t, append([]string{"timeout", "60"}, args...)...)
	want(t, "stdout unasked of "+strings.Join(args, " "), r.Out, out)
}

// varied makes a call that waits, and has it approved with flags. It returns what approve says.
func (c *Container) varied(t *testing.T, flags []string, args ...string) Result {
	t.Helper()
	call := c.Start(t, args...)
	id := pending(t, c.Host, args[len(args)-1], 1)[0].ID
	r := c.Host.Docker(t, append(append([]string{"hostexec", "approve"}, flags...), id)...)
	if r.Code != 0 {
		c.Host.Must(t, "hostexec", "deny", id)
	}
	call.Ended(t)
	return r
}

// TestIntegrationVary approves a call with an argument that varies: other calls of that form run unasked and are
// recorded first. Everything else is asked about, whatever the container puts into its workspace.
//
// Attacks 262, 263.
func TestIntegrationVary(t *testing.T) {
	h, canary := hostWithCanary(t)
	c := ruled(t, h, varyRules)
	approver(t, h)
	waitUntilAsked(t, c, "hostexec", "cat", "nothing")
	want(t, "files", c.Sh(t, `mkdir -p src .git/hooks; for f in src/a src/b .git/config .git/hooks/x 'src/x y' top -rf; do printf %s "$f" > "./$f"; done
		ln -s "$1" src/link; ln -s / src/root; ln -s b src/inner; mkfifo src/pipe; printf bidi > "src/$(printf '\342\200\256')"; printf cyrillic > "src/$(printf '\320\260')"`, canary).Code, 0)
	r := c.varied(t, []string{"--for", "1h", "--vary", "1"}, "hostexec", "cat", "src/a")
	if !strings.Contains(r.Err, "this runs without a question: cat <path below /w> for 1h") {
		t.Fatalf("approve says %v", r)
	}
	c.unasked(t, "src/b", "hostexec", "cat", "src/b")
	c.unasked(t, "top", "hostexec", "cat", "./top")
	grant := c.grants(t)[0]
	start := h.Audit(t, "HOSTEXEC APPROVE", "grant "+grant.ID+": cat <path below /w>", "src/b")
	want(t, "APPROVE of the other path", len(start), 1)
	for _, other := range []string{
		"src/link", "src/root/etc/passwd", "src/inner", "src/pipe", "src/nothing", "../w/src/a", "src/../top", "..", "-rf", "", ".git/config", ".git/hooks/x", "./.GIT/config",
		"src/x y", " src/b", "src/b ", canary, "/etc/passwd", "src/$(printf '\\342\\200\\256')", "src/$(printf '\\320\\260')", "src/$(printf '%05000d' 0)", ".", "/w", "top",
	} {
		if r := c.Sh(t, `timeout 1 hostexec cat "`+other+`"`); r.Out != "" {
			t.Errorf("%s ran: %v", other, r)
		}
	}
	if r := c.Sh(t, "timeout 1 hostexec cat src/a src/b; timeout 1 hostexec cat; cd src && timeout 1 hostexec cat ./a"); r.Out != "" {
		t.Errorf("another call ran: %v", r)
	}
	if ls := h.Must(t, "hostexec", "policy", "ls"); !strings.Contains(ls, "cat <path below /w>") {
		t.Errorf("policy ls shows %s", ls)
	}
	h.Must(t, "hostexec", "stop", c.Session)
	h.Must(t, "hostexec", "resume", c.Session)
	c.unasked(t, "src/b", "hostexec", "cat", "src/b")
	h.Must(t, "hostexec", "policy", "rm", "grant/"+grant.ID)
	if r := c.Sh(t, "timeout 1 hostexec cat src/b"); r.Out != "" {
		t.Errorf("it ran after it was revoked: %v", r)
	}
}

// TestIntegrationVaryForms approves a number and words, of a call that the host adds to, and has what cannot vary
// refused.
func TestIntegrationVaryForms(t *testing.T) {
	h := newHost(t, false)
	c := ruled(t, h, varyRules)
	m := approver(t, h)
	h.Write(t, h.Work, "a", "abcdef\n", 0o644)
	h.Write(t, h.Work, "b", "bcdefg\n", 0o644)
	waitUntilAsked(t, c, "hostexec", "cat", "nothing")
	if r := c.varied(t, []string{"--times", "2", "--vary", "3"}, "hostexec", "head", "-c", "1", "a"); !strings.Contains(r.Err, "head -q -c <number> a 2 times") {
		t.Errorf("approve says %v", r)
	}
	c.unasked(t, "abc", "hostexec", "head", "-c", "3", "a")
	if r := c.Sh(t, "timeout 1 hostexec head -c 4 a"); r.Out != "" {
		t.Errorf("the third of two calls ran: %v", r)
	}
	call := c.Start(t, "hostexec", "cat", "a")
	m.Expect(t, "  argv[1]  a\r\n")
	m.Expect(t, "v with other arguments, ")
	m.Type(t, "v")
	m.Expect(t, "These may vary: 1=path (below /w), 1=WORD,WORD")
	m.Type(t, "1=a,b\r")
	m.Expect(t, "cat <a|b>")
	m.Type(t, "a")
	m.Expect(t, "Runs, and so does cat <a|b> for this session.")
	want(t, "stdout", call.Ended(t).Out, "abcdef\n")
	c.unasked(t, "bcdefg\n", "hostexec", "cat", "b")
	for _, tt := range []struct {
		vary, says string
		args       []string
	}{
		{"1", "so nothing of it can vary", []string{"make", "refused1"}}, {"0=path", "names no argument", []string{"cat", "refused2"}},
		{"1", "give the words", []string{"cat", "refused3"}}, {"1=path", "cannot vary as a path", []string{"cat", "refused4"}}, {"1=x,y", "not among the words", []string{"cat", "refused5"}},
		{"1", "it is an option", []string{"cat", "-u", "refused6"}}, {"1=number", "it is an option", []string{"head", "-c", "1", "refused7"}},
	} {
		r := c.varied(t, []string{"--always", "--vary", tt.vary}, append([]string{"hostexec"}, tt.args...)...)
		if r.Code != 1 || !strings.Contains(r.Err, tt.says) {
			t.Errorf("--vary %s of %q: %v, want %q", tt.vary, tt.args, r, tt.says)
		}
	}
	if r := h.Docker(t, "hostexec", "approve", "--vary", "1", "00ff"); r.Code != 1 || !strings.Contains(r.Err, "--vary needs --for, --times or --always") {
		t.Errorf("--vary alone: %v", r)
	}
	code, body := c.control(t, "GET", "/grants")
	want(t, "GET /grants", code, 200)
	var all []struct{ Vary struct{ Rule, Form string } }
	check(t, json.Unmarshal([]byte(body), &all))
	if len(all) != 1 || all[0].Vary.Rule != "cat <a|b>" || all[0].Vary.Form != "words" {
		t.Errorf("grants are %s", body)
	}
	h.Must(t, "hostexec", "stop", c.Session)
	file := filepath.Join(h.State, "sessions", c.Session, "grants.json")
	text, err := os.ReadFile(file)
	check(t, err)
	h.Write(t, filepath.Dir(file), "grants.json", strings.Replace(string(text), `"words",`, `"any",`, 1), 0o600)
	h.Must(t, "hostexec", "resume", c.Session)
	want(t, "grants of a broken file", len(c.grants(t)), 0)
}
