// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestWritableSandboxes checks paths of sandboxes that are below a path of write of any command.
func TestWritableSandboxes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		of    policy.Sandbox // of go; that of make has write: [/srv/out]
		below bool
	}{
		{"write", policy.Sandbox{Write: []string{"/srv/out/a"}}, true},
		{"read", policy.Sandbox{Read: []string{"/srv/out/a"}}, true},
		{"creds", policy.Sandbox{Creds: []string{"/srv/out/a/b"}}, true},
		{"cache", policy.Sandbox{Cache: []string{"/srv/out/a"}}, true},
		{"the same", policy.Sandbox{Write: []string{"/srv/out"}}, false},
		{"beside it", policy.Sandbox{Read: []string{"/srv/outer"}}, false},
		{"above it", policy.Sandbox{Read: []string{"/srv"}}, false},
	} {
		p := &policy.Policy{Rules: map[string]policy.Ruleset{"make": {Sandbox: policy.Sandbox{Write: []string{"/srv/out"}}}, "go": {Sandbox: tt.of}}}
		all := WritableCode(p, nil, mount.WritableTable(nil))
		if (len(all) == 1) != tt.below || tt.below && (all[0].Rule != "go" || !strings.Contains(all[0].Text, `below "/srv/out" of write`)) {
			t.Errorf("%s: %+v, want a finding: %t", tt.name, all, tt.below)
		}
	}
}
