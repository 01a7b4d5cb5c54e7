// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestSandboxOwnDirectories checks that the configuration cannot pass the host's HOME and TMPDIR to a sandbox. Programs
// would use different ones of two values, and the host's directories are not readable there.
func TestSandboxOwnDirectories(t *testing.T) {
	v := &policy.Verdict{Sandbox: policy.Sandbox{Env: []string{"HOME", "TMPDIR", "TOKEN"}}}
	v.Env.Pass = []string{"HOME", "TMPDIR"}
	host := []string{"HOME=/home/me", "TMPDIR=/tmp", "TOKEN=1", "SECRET=1"}
	env := sandboxEnviron(host, state.SandboxDirs{Home: "/s/home", Tmp: "/s/tmp"}, v, nil)
	if want := []string{"HOME=/s/home", "TMPDIR=/s/tmp", "TOKEN=1"}; !slices.Equal(env, want) {
		t.Errorf("environment %q, want %q", env, want)
	}
}

// TestLinkHome links a directory and a file in it, and then another choice of both. A cache cannot be where a link leads.
func TestLinkHome(t *testing.T) {
	home, private := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".cargo/bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cargo, bin := filepath.Join(home, ".cargo"), filepath.Join(home, ".cargo/bin")
	for _, c := range []struct {
		sandbox policy.Sandbox
		link    string // in the private home, to the same path of the home
		failure string
	}{
		{policy.Sandbox{Read: []string{bin, cargo}}, ".cargo", ""},
		{policy.Sandbox{Read: []string{cargo}, Creds: []string{bin}}, ".cargo", ""},
		{policy.Sandbox{Read: []string{cargo}, Cache: []string{filepath.Join(cargo, "registry")}}, ".cargo", "name only one of them"},
		{policy.Sandbox{Read: []string{bin}}, ".cargo/bin", ""},
		{policy.Sandbox{Read: []string{bin}, Cache: []string{filepath.Join(cargo, "registry")}}, ".cargo/bin", ""},
		{policy.Sandbox{Cache: []string{filepath.Join(home, "file")}}, ".cargo/bin", "is not a directory"},
	} {
		err := linkHome(private, home, c.sandbox, &cacheCopy{maxSize: 1000})
		if (err != nil) != (c.failure != "") || err != nil && !strings.Contains(err.Error(), c.failure) {
			t.Errorf("%+v: %v, want %q", c.sandbox, err, c.failure)
		}
		if to, err := os.Readlink(filepath.Join(private, c.link)); err != nil || to != filepath.Join(home, c.link) {
			t.Errorf("%+v: %s is a link to %q, %v", c.sandbox, c.link, to, err)
		}
	}
}
