// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// patient is a configuration that has every echo wait for a person, whoever is there, with
// more lines about how.
func patient(more string) string {
	return "version: 1\napproval:\n  wait: always\n  manual_approve: ['^echo .*$']\n" + more
}

// TestIntegrationNobodyAnswers checks that an unanswered request waits for approval.timeout.
func TestIntegrationNobodyAnswers(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, patient("  timeout: 1s\n"))
		r := c.Exec(t, "env", "HOSTEXEC_JSON=1", "hostexec", "echo", "unanswered")
		lines := strings.Split(r.Err, "\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[0], "hostexec: echo: waiting for approval (request ") ||
			!strings.HasPrefix(lines[1], "hostexec: echo: Command timed out waiting for approval (request ") {
			t.Fatalf("the caller is told %v", r)
		}
		var end struct{ Status, Reason, Request string }
		check(t, json.Unmarshal([]byte(lines[2]), &end))
		want(t, "status", end.Status+": "+end.Reason, "timeout: Command timed out waiting for approval")
		want(t, "code", r.Code, 124)
		want(t, "stdout", r.Out, "")
		for kind, n := range map[string]int{"REQUEST": 1, "TIMEOUT": 1, "START": 0} {
			want(t, kind+" in the audit log", len(h.Audit(t, end.Request, "HOSTEXEC "+kind+" ")), n)
		}
	})
}

// TestIntegrationWaitAlways asks although nobody seems to be present, and a person answers later.
func TestIntegrationWaitAlways(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, patient(""))
		call := c.Start(t, "hostexec", "echo", "patience")
		h.Must(t, "hostexec", "approve", pending(t, h, "patience", 1)[0].ID)
		want(t, "stdout", call.Ended(t).Out, "patience\n")

		call = c.Start(t, "hostexec", "echo", "no reason")
		h.Must(t, "hostexec", "deny", pending(t, h, "no reason", 1)[0].ID)
		if r := call.Ended(t); r.Code != 126 || !strings.Contains(r.Err, "hostexec: echo: Command denied: Denied by user (request ") {
			t.Errorf("the caller is told %v", r)
		}
	})
}

// TestIntegrationDurable kills a caller that waits: the same call fetches the answer that
// was given meanwhile, once.
func TestIntegrationDurable(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, patient("  durable: true\n"))
		cut := func(word string) question {
			call := c.Start(t, "hostexec", "echo", word)
			pending(t, h, word, 1)
			call.Signal(t, "KILL")
			call.Ended(t)
			var q question
			eventually(t, patience, "its caller is gone", func() bool { q = pending(t, h, word, 1)[0]; return q.Callers == "gone" })
			return q
		}
		h.Must(t, "hostexec", "approve", cut("approved").ID)
		want(t, "START before it comes back", len(h.Audit(t, "HOSTEXEC START")), 0)
		want(t, "stdout", c.Exec(t, "hostexec", "echo", "approved").Out, "approved\n")
		if r := c.Exec(t, "timeout", "-s", "INT", "1", "hostexec", "echo", "approved"); r.Out != "" {
			t.Errorf("an approval is fetched twice: %v", r)
		}
		pending(t, h, "approved", 0) // ^C keeps no place

		h.Must(t, "hostexec", "deny", "-m", "not that", cut("denied").ID)
		if r := c.Exec(t, "hostexec", "echo", "denied"); r.Code != 126 || !strings.Contains(r.Err, "Command denied: not that") {
			t.Errorf("the caller that comes back is told %v", r)
		}

		cut("still open")
		call := c.Start(t, "hostexec", "echo", "still open")
		var q question
		eventually(t, patience, "it waits again", func() bool { q = pending(t, h, "still open", 1)[0]; return q.Callers == "1" })
		h.Must(t, "hostexec", "approve", q.ID)
		want(t, "stdout", call.Ended(t).Out, "still open\n")
	})
}

// TestIntegrationWatcherEndsAsked ends the watcher while a request waits: the caller fails, nothing
// runs, and the question can no longer be answered.
func TestIntegrationWatcherEndsAsked(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, patient(""))
		for name, end := range map[string]func(){
			"stopped": func() { h.Must(t, "hostexec", "stop", c.Session) },
			"killed": func() {
				w := h.Watcher(t, c.Session)
				w.Signal(t, syscall.SIGKILL)
				w.Ends(t, soon)
			},
		} {
			call := c.Start(t, "hostexec", "echo", name)
			q := pending(t, h, name, 1)[0]
			end()
			if r := call.Ended(t); r.Code != 125 || !strings.Contains(r.Err, "the host side went away") {
				t.Errorf("%s: the caller is told %v", name, r)
			}
			h.Must(t, "hostexec", "resume", c.Session)
			pending(t, h, name, 0)
			want(t, name+": approve", h.Docker(t, "hostexec", "approve", q.ID).Code, 1)
			want(t, name+": START", len(h.Audit(t, "HOSTEXEC START", q.ID)), 0)
			call = c.Start(t, "hostexec", "echo", name)
			h.Must(t, "hostexec", "approve", pending(t, h, name, 1)[0].ID)
			want(t, name+": asked anew", call.Ended(t).Out, name+"\n")
		}
		if r := h.Docker(t, "hostexec", "audit", "verify"); r.Code != 0 {
			t.Errorf("verify: %v", r)
		}
	})
}

// TestIntegrationGrantsOutliveSIGKILL kills the watcher while there are grants.
func TestIntegrationGrantsOutliveSIGKILL(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, patient(""))
		call := c.Start(t, "hostexec", "echo", "granted")
		h.Must(t, "hostexec", "approve", "--times", "3", pending(t, h, "granted", 1)[0].ID)
		want(t, "first", call.Ended(t).Out, "granted\n")
		want(t, "second", c.Exec(t, "hostexec", "echo", "granted").Out, "granted\n")
		w := h.Watcher(t, c.Session)
		w.Signal(t, syscall.SIGKILL)
		w.Ends(t, soon)
		h.Must(t, "hostexec", "resume", c.Session)
		want(t, "third", c.Exec(t, "hostexec", "echo", "granted").Out, "granted\n")
		call = c.Start(t, "hostexec", "echo", "granted")
		pending(t, h, "granted", 1)
		call.Signal(t, "INT")
		want(t, "the fourth runs", call.Ended(t).Out, "")
	})
}

// TestIntegrationBrokenWhileAsked breaks the configuration under a request that waits.
//
// Attack 157.
func TestIntegrationBrokenWhileAsked(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, patient(""))
		call := c.Start(t, "hostexec", "echo", "broken")
		h.Watcher(t, c.Session).Signal(t, syscall.SIGHUP) // ends nothing
		pending(t, h, "broken", 1)
		h.reconfigure(t, patient("  bogus: 1\n"))
		if r := call.Ended(t); r.Code != 126 || r.Out != "" || !strings.Contains(r.Err, "the host's configuration is broken") {
			t.Errorf("the caller is told %v", r)
		}
		pending(t, h, "broken", 0)
	})
}

// TestIntegrationNotifyCommand checks that the user's notification program gets the number of
// waiting requests, and nothing of their content.
//
// Attack 99.
func TestIntegrationNotifyCommand(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		told := h.Write(t, h.Home, "told", "", 0o600)
		tell := h.Write(t, h.Home, "tell", "#!/bin/sh\nprintf '<%s>' \"$@\" $HOSTEXEC_PENDING $HOSTEXEC_SESSION >>"+told+"; env >>"+told+"; cat >>"+told+"\n", 0o755)
		h.Write(t, h.State, "config.yaml", "approval: {manual_approve: ['^echo .*$']}\nnotify: {command: ["+tell+", 'two words'], desktop: false}\n", 0o600)
		c := h.nobody(t)
		call := c.Start(t, "hostexec", "echo", "secret")
		q := pending(t, h, "secret", 1)[0]
		var text string
		eventually(t, patience, "the command is told", func() bool {
			b, err := os.ReadFile(told)
			check(t, err)
			text = string(b)
			return strings.HasPrefix(text, "<two words><1><"+c.Session+">")
		})
		if strings.Contains(text, "secret") || strings.Contains(text, q.ID) {
			t.Errorf("it is told %s", text)
		}
		h.Must(t, "hostexec", "approve", q.ID)
		want(t, "stdout", call.Ended(t).Out, "secret\n")
		check(t, os.Rename(tell, filepath.Join(h.Home, "away")))
		if r := c.Exec(t, "hostexec", "echo", "more"); r.Code != 126 || !strings.Contains(r.Err, "nobody is there to ask") {
			t.Errorf("without the command: %v", r)
		}
	})
}
