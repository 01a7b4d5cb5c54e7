// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestIntegrationGitQuestion asks about a push: the question shows where it goes, also in a directory below that of
// the repository, and a grant for one address does not hold for another that the container writes.
func TestIntegrationGitQuestion(t *testing.T) {
	h := newHost(t, false)
	if r := h.feed(t, "", "sh", "-ec", "git init -q . && mkdir sub && git remote add origin https://you:secret@127.0.0.1:1/a.git"); r.Code != 0 {
		t.Fatalf("make a repository: %v", r)
	}
	c := h.Holding(t, "--proxy", "git=ask")
	approver(t, h)
	waitUntilAsked(t, c, "git", "push")
	ask := func(note string) {
		t.Helper()
		call := c.Start(t, "sh", "-c", "cd sub && exec git push origin HEAD")
		q := pending(t, h, "push", 1)[0]
		if notes := h.Must(t, "hostexec", "pending", "--format", "{{.Notes}}"); !strings.Contains(notes, note) || strings.Contains(notes, "secret") {
			t.Errorf("the question has the notes %q, want %q in them", notes, note)
		}
		h.Must(t, "hostexec", "approve", "--times", "9", q.ID)
		want(t, "code of a push of nothing", call.Ended(t).Code, 1)
	}
	ask("remote origin is https://you:***@127.0.0.1:1/a.git")
	c.Sh(t, `printf '[remote "origin"]\n\turl = https://127.0.0.1:1/a.git\n\tpushurl = https://127.0.0.1:1/evil.git\n' >.git/config`)
	ask("remote origin is https://127.0.0.1:1/evil.git")
}
