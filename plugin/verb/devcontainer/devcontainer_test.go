// SPDX-License-Identifier: Apache-2.0

package devcontainer

import (
	"path/filepath"
	"testing"
)

func TestPortable(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for path, want := range map[string]string{
		home + "/.docker/x": "${localEnv:HOME}/.docker/x", home + "more/x": home + "more/x", "/elsewhere": "/elsewhere",
	} {
		if got := portable(path); got != want {
			t.Errorf("portable(%q) = %q, want %q", path, got, want)
		}
	}
}
