// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDirectoryOfHome(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	for _, dir := range []string{filepath.Join(home, "app"), "~x"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{"~": home, "~/": home, "~/app": home + "/app", "~/app/..": home} {
		if got, err := Directory(dir); got != want || err != nil {
			t.Errorf("directory(%q) = %q, %v, want %q", dir, got, err, want)
		}
	}
	if got, err := Directory("~x"); err != nil || !strings.HasSuffix(got, "/~x") {
		t.Errorf("a directory with that name: %q, %v", got, err)
	}
	if _, err := Directory("~/no"); err == nil || !strings.Contains(err.Error(), home+"/no: no such file") {
		t.Errorf("a missing directory: %v", err)
	}
}
