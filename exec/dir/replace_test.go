// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplace replaces a file, and leaves nothing when that fails.
func TestReplace(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "file")
	for _, text := range []string{"first", "second"} {
		if err := Replace(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil || string(b) != text {
			t.Errorf("the file has %q, %v, want %q", b, err, text)
		}
	}
	taken := filepath.Join(home, "directory")
	if err := os.MkdirAll(filepath.Join(taken, "entry"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(taken, []byte("x"), 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	if left, err := filepath.Glob(filepath.Join(home, ".hostexec-*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
}
