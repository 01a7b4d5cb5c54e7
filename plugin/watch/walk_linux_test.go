// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestWalkPipe replaces a directory by a named pipe after Walk has found it. No writer opens the pipe, so a container
// could stop the measurement of its files, and fill the disk afterwards.
//
// Attack 287.
func TestWalkPipe(t *testing.T) {
	at := t.TempDir()
	name := filepath.Join(at, "a")
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var found []error // what visit gets
	done := make(chan error, 1)
	// ends with the walk; t.Fatal ends a test whose walk waits.
	go func() {
		done <- Walk(root, func(e Found, err error) error {
			if found = append(found, err); err != nil {
				return nil
			}
			return errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o700))
		})
	}()
	select {
	case err := <-done:
		if err != nil || len(found) != 2 || found[0] != nil || !errors.Is(found[1], syscall.ENOTDIR) {
			t.Errorf("Walk = %v, and visit gets %v, want that a is no directory any more", err, found)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Walk waits for a writer of the pipe")
	}
}
