// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImageCache(t *testing.T) {
	home, image := t.TempDir(), "sha256:"+strings.Repeat("ab", 32)
	found := map[string]ImageFile{"/usr/local": {Exists: true}, "/usr/local/bin": {Exists: true, Link: "/bin"}, "/usr/local/bin/make": {}}
	if got := LoadImageFiles(home, image); got == nil || len(got) != 0 {
		t.Errorf("LoadImageFiles before SaveImageFiles = %v, want an empty map", got)
	}
	if err := SaveImageFiles(home, image, found); err != nil {
		t.Fatal(err)
	}
	if got := LoadImageFiles(home, image); !maps.Equal(got, found) {
		t.Errorf("LoadImageFiles = %v, want %v", got, found)
	}
	for _, text := range []string{"", "{", "null", "[]", `{"/": 3}`} {
		if err := os.WriteFile(imageCacheFile(home, image), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := LoadImageFiles(home, image); got == nil || len(got) != 0 {
			t.Errorf("LoadImageFiles of %q = %v, want an empty map", text, got)
		}
	}
	if err := Prune(home); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(imageCacheFile(home, image))); !os.IsNotExist(err) {
		t.Errorf("notes after Prune: %v", err)
	}
}

// TestImageCacheIDs checks that an id that is not a digest is never used as a file name.
func TestImageCacheIDs(t *testing.T) {
	home := t.TempDir()
	for _, image := range []string{"", "busybox", "sha256:../../x", "sha256:" + strings.Repeat("A", 64), "sha256:" + strings.Repeat("a", 63)} {
		if err := SaveImageFiles(home, image, map[string]ImageFile{"/": {}}); err != nil {
			t.Errorf("SaveImageFiles(%q): %v", image, err)
		}
		if got := LoadImageFiles(home, image); len(got) != 0 {
			t.Errorf("LoadImageFiles(%q) = %v", image, got)
		}
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) != 0 {
		t.Errorf("files %v, %v, want none", entries, err)
	}
}
