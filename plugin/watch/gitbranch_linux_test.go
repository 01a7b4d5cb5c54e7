// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe in place of HEAD keeps nobody waiting.
func TestBranchOfPipe(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, ".git", "HEAD"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := branch(dir); got != "" {
		t.Errorf("branch = %q, want none", got)
	}
}
