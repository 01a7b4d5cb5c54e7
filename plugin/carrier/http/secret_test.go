// SPDX-License-Identifier: Apache-2.0

package http

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecrets makes secrets, and finds them again.
func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	key, err := LoadSecret(file)
	if err != nil || len(key) != 64 || strings.Trim(key, "0123456789abcdef") != "" {
		t.Fatalf("a new key: %q, %v", key, err)
	}
	if again, err := LoadSecret(file); again != key || err != nil {
		t.Errorf("again: %q, %v, want %q", again, err, key)
	}
	if other, err := NewSecret(file); other == key || err != nil {
		t.Errorf("another: %q, %v", other, err)
	}
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("its file: %v, %v", fi.Mode(), err)
	}
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	if made, err := LoadSecret(file); len(made) != 64 || err != nil {
		t.Errorf("an empty file: %q, %v", made, err)
	}
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := LoadSecret(file); err == nil {
		t.Errorf("a file with an empty line: %q", key)
	}
}
