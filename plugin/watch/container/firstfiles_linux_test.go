// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestFirstFiles: the state directory's named pipes do not block the watcher, which looks for a file in each directory.
func TestFirstFiles(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "sessions")
	if err := os.MkdirAll(filepath.Join(dir, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "file")
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pipe := range []string{filepath.Join(home, "engines.json"), filepath.Join(dir, "pipe")} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := make(chan []string, 1)
	// ends when firstFiles does; the test fails if that needs another process.
	go func() { found <- firstFiles(home) }()
	select {
	case got := <-found:
		if !slices.Equal(got, []string{want}) {
			t.Errorf("firstFiles = %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Error("it blocks")
	}
}
