// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestImageCacheOfPipe: a named pipe in place of findings does not block a new container.
func TestImageCacheOfPipe(t *testing.T) {
	home, image := t.TempDir(), "sha256:"+strings.Repeat("ab", 32)
	if err := SaveImageFiles(home, image, nil); err != nil {
		t.Fatal(err)
	}
	file := imageCacheFile(home, image)
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	loaded := make(chan map[string]ImageFile, 1)
	// ends when LoadImageFiles does; the test fails if that needs another process.
	go func() { loaded <- LoadImageFiles(home, image) }()
	select {
	case got := <-loaded:
		if got == nil || len(got) != 0 {
			t.Errorf("LoadImageFiles = %v, want an empty map", got)
		}
	case <-time.After(time.Minute):
		t.Error("it blocks")
	}
}
