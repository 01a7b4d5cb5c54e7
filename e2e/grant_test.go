// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// grant is what the control API tells of a grant.
type grant struct {
	ID, Session, Rule, User string
	Args                    []string
	Until                   time.Time
	Left                    int
}

// control sends one request to the control socket of a session, as a person's program.
func (c *Container) control(t testing.TB, method, path string) (code int, body string) {
	t.Helper()
	sock := filepath.Join(c.Host.State, "sessions", c.Session, "control.sock")
	r := c.Host.feed(t, method+" "+path+" HTTP/1.0\r\n\r\n", probePath(t), "talk", sock)
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(r.Out)), nil)
	if err != nil {
		t.Fatalf("%v: %v", err, r)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	check(t, err)
	return resp.StatusCode, string(b)
}

func (c *Container) grants(t testing.TB) (all []grant) {
	t.Helper()
	code, body := c.control(t, "GET", "/grants")
	want(t, "GET /grants", code, 200)
	check(t, json.Unmarshal([]byte(body), &all))
	return all
}

// asked makes a call that waits, has it approved with flags, and waits for its end.
func (c *Container) asked(t *testing.T, word string, flags ...string) {
	t.Helper()
	call := c.Start(t, "hsh", "-c", "echo "+word)
	id := pending(t, c.Host, word, 1)[0].ID
	c.Host.Must(t, append(append([]string{"hostexec", "approve"}, flags...), id)...)
	want(t, "stdout of "+word, call.Ended(t).Out, word+"\n")
}

// TestIntegrationGrants approves for a time, a number of calls, and always: the same call
// runs unasked then, any other does not.
//
// Attack 72.
func TestIntegrationGrants(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := askingContainer(t, h)
			for word, flags := range map[string][]string{"for": {"--for", "15m"}, "times": {"--times", "2"}, "always": {"--always"}} {
				c.asked(t, word, flags...)
				want(t, "stdout unasked", c.Exec(t, "hsh", "-c", "echo "+word).Out, word+"\n")
			}
			if r := c.Sh(t, "timeout 1 hsh -c 'echo times'"); r.Out != "" {
				t.Errorf("the third of two calls ran: %v", r)
			}
			for _, other := range []string{"hsh -c 'echo always' x", "cd /; hsh -c 'echo always'"} {
				if r := c.Sh(t, "timeout 1 sh -c \""+other+"\""); r.Out != "" {
					t.Errorf("%s ran: %v", other, r)
				}
			}
			all := c.grants(t)
			if len(all) != 2 {
				t.Fatalf("grants: %+v", all)
			}
			for _, g := range all {
				want(t, "rule", g.Rule, "--proxy hsh=ask")
				want(t, "APPROVE by grant "+g.ID, len(h.Audit(t, "HOSTEXEC APPROVE", "grant "+g.ID)), 1)
				want(t, "until an hour", !g.Until.IsZero(), g.Args[2] == "echo for")
			}
			if r := h.Docker(t, "hostexec", "approve", "--for", "0s", "00ff"); r.Code != 1 || !strings.Contains(r.Err, "want a time such as 15m") {
				t.Errorf("--for 0s: %v", r)
			}
		})
	}
}

// TestIntegrationGrantRevoked revokes a grant over the control API, which a command that a
// container called cannot do.
//
// Attack 124.
func TestIntegrationGrantRevoked(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh", "--proxy", "hp="+probePath(t), "--proxy", "hbash="+find(t, "bash"))
			approver(t, h)
			waitUntilAsked(t, c, "hsh", "-c", "exit 0")
			c.asked(t, "revoked", "--always")
			g := c.grants(t)[0]
			sock := filepath.Join(h.State, "sessions", c.Session, "control.sock")
			r := c.Exec(t, "hbash", "-c", "command -v curl >/dev/null || exit 77; curl -s --unix-socket "+sock+" -X DELETE http://watcher/grants/"+g.ID)
			if r.Code != 77 && !strings.Contains(r.Out, "may not answer for you") {
				t.Errorf("a called command revokes: %v", r)
			}
			want(t, "still there", len(c.grants(t)), 1)
			if ls := h.Must(t, "hostexec", "policy", "ls"); !strings.Contains(ls, "grant/"+g.ID) || !strings.Contains(ls, ", its session") {
				t.Errorf("policy ls shows %s", ls)
			}
			want(t, "policy rm", h.Must(t, "hostexec", "policy", "rm", "grant/"+g.ID[:8]), "grant/"+g.ID+"\n")
			want(t, "grants", len(c.grants(t)), 0)
			if r := c.Sh(t, "timeout 1 hsh -c 'echo revoked'"); r.Out != "" {
				t.Errorf("what was revoked ran: %v", r)
			}
			code, _ := c.control(t, "DELETE", "/grants/"+g.ID)
			want(t, "DELETE again", code, 404)
		})
	}
}

// TestIntegrationGrantOutlivesWatcher stops the watcher and resumes the session: grants stay valid,
// and counted calls are not counted again. Meanwhile they are listed, and can be revoked.
func TestIntegrationGrantOutlivesWatcher(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := askingContainer(t, h)
			c.asked(t, "stays", "--always")
			c.asked(t, "counted", "--times", "3")
			want(t, "second of three", c.Exec(t, "hsh", "-c", "echo counted").Out, "counted\n")
			c.asked(t, "revoked", "--always")
			h.Must(t, "hostexec", "stop", c.Session)
			revoked := ""
			for line := range strings.Lines(h.Must(t, "hostexec", "policy", "ls")) {
				if strings.Contains(line, "echo revoked") {
					revoked, _, _ = strings.Cut(line, " ")
				}
			}
			want(t, "policy rm without a watcher", h.Must(t, "hostexec", "policy", "rm", revoked), revoked+"\n")
			h.Must(t, "hostexec", "resume", c.Session)
			want(t, "grants", len(c.grants(t)), 2)
			want(t, "stdout unasked", c.Exec(t, "hsh", "-c", "echo stays").Out, "stays\n")
			want(t, "third of three", c.Exec(t, "hsh", "-c", "echo counted").Out, "counted\n")
			want(t, "grants", len(c.grants(t)), 1)
			h.Must(t, "hostexec", "stop", c.Session)
			h.Write(t, filepath.Join(h.State, "sessions", c.Session), "grants.json", "[{}]\n", 0o600)
			h.Must(t, "hostexec", "resume", c.Session)
			want(t, "grants of a broken file", len(c.grants(t)), 0)
			if logs := h.Must(t, "hostexec", "logs", c.Session); !strings.Contains(logs, "earlier grants are not in force") {
				t.Errorf("the log says %s", logs)
			}
		})
	}
}

// TestIntegrationWatchAlways types a in docker hostexec pending --watch.
func TestIntegrationWatchAlways(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	m := approver(t, h)
	waitUntilAsked(t, c, "hsh", "-c", "exit 0")
	call := c.Start(t, "hsh", "-c", "echo each time")
	m.Expect(t, "  argv[2]  echo each time\r\n")
	m.Expect(t, "a for this session, ")
	m.Type(t, "a")
	m.Expect(t, "Runs, each time in this session.")
	want(t, "stdout", call.Ended(t).Out, "each time\n")
	want(t, "stdout unasked", c.Exec(t, "hsh", "-c", "echo each time").Out, "each time\n")
}
