// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestLinkWhileReplaced links a file that another process replaces by an equal one, as concurrent runs do.
// link(2) may return ENOENT in between.
func TestLinkWhileReplaced(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	replace := func() error {
		if err := os.WriteFile(file+".new", nil, 0o600); err != nil {
			return err
		}
		return os.Rename(file+".new", file)
	}
	if err := replace(); err != nil {
		t.Fatal(err)
	}
	done, replaced := make(chan struct{}), make(chan error)
	// Ends when the links are made; the test waits for it.
	go func() {
		for {
			select {
			case <-done:
				replaced <- nil
				return
			default:
				if err := replace(); err != nil {
					replaced <- err
					return
				}
			}
		}
	}()
	for i := range 5000 {
		if err := link(file, filepath.Join(dir, strconv.Itoa(i))); err != nil {
			t.Errorf("link %d: %v", i, err)
			break
		}
	}
	close(done)
	if err := <-replaced; err != nil {
		t.Error(err)
	}
}
