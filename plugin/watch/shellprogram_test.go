// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"os"
	"path/filepath"
	"testing"
)

// TestShellProgramPruned removes the program of shells, as prune of another build does: it is unpacked again.
func TestShellProgramPruned(t *testing.T) {
	home := t.TempDir()
	program := shellProgram(home)
	for range 2 {
		path, err := program()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(home, "shims")); err != nil {
			t.Fatal(err)
		}
	}
}
