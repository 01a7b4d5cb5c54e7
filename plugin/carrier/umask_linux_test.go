// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestUmask puts the carrier's own files into a share for a person whose umask shuts out everybody
// else: a container's user reads all of them.
func TestUmask(t *testing.T) {
	share := t.TempDir()
	defer syscall.Umask(syscall.Umask(0o077))
	if err := Decide(share, ByFiles); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteNonce(share); err != nil {
		t.Fatal(err)
	}
	if err := WriteToken(share, "token"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{File, nonce, Token} {
		if fi, err := os.Stat(filepath.Join(share, name)); err != nil || fi.Mode() != 0o644 {
			t.Errorf("%s: %v, %v, want mode 0644", name, fi, err)
		}
	}
}
