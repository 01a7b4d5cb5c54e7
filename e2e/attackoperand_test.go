// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// TestIntegrationAttackRewritten shows a script to a person, and rewrites it before the answer:
// in place, by a link, by another file, by nothing, and through a descriptor that stays open.
// What was shown runs, by its digest, and once.
//
// Attack 65.
func TestIntegrationAttackRewritten(t *testing.T) {
	h, canary := hostWithCanary(t)
	c := ruled(t, h, `version: 1
commands:
  sh:
    exec: /bin/sh
    rules: [{id: script, do: ask, argv: [{path: ws, type: file}]}]
`)
	watch := approver(t, h)
	const good = "echo good\n"
	h.Write(t, h.Work, "first.sh", good, 0o666)
	waitUntilAsked(t, c, "hostexec", "sh", "first.sh")
	for name, rewrite := range map[string]string{
		"in place": "echo 'echo EVIL' > s.sh", "a link to the host's": "ln -sf " + canary + " s.sh", "another file": "echo 'echo EVIL' > t; mv t s.sh",
		"nothing": "rm s.sh", "a descriptor": "echo 'echo EVIL' >&7", "a directory above": "mkdir x; echo 'echo EVIL' > x/s.sh; mv s.sh gone; mv x s.sh",
	} {
		t.Run(name, func(t *testing.T) {
			want(t, "planted", c.Sh(t, "rm -rf s.sh x gone; printf '%s' \"$1\" > s.sh", good).Code, 0)
			call := c.Start(t, "hostexec", "sh", "s.sh")
			q := pending(t, h, "sh s.sh", 1)[0]
			watch.Expect(t, fmt.Sprintf(`a copy of "s.sh", sha256 %x`, sha256.Sum256([]byte(good))))
			want(t, "rewritten", c.Sh(t, "exec 7<>s.sh; "+rewrite).Code, 0)
			h.Must(t, "hostexec", "approve", q.ID)
			if r := call.Wait(t); r.Out != "good\n" || r.Code != 0 {
				t.Errorf("what ran: %v", r)
			}
		})
	}
}
