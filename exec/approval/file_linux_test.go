// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNoFile loads from paths that are no regular files: at once, and with an error.
func TestNoFile(t *testing.T) {
	at := t.TempDir()
	pipe, link := filepath.Join(at, "pipe"), filepath.Join(at, "link")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, at} {
		done := make(chan error, 2)
		// ends at once, unless the test fails.
		go func() {
			q := Queue{}
			done <- q.LoadGrants(path, "s")
			done <- q.LoadDenials(path, "s")
		}()
		for range 2 {
			select {
			case err := <-done:
				if err == nil {
					t.Errorf("%s: no error", path)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: loading does not end", path)
			}
		}
	}
}
