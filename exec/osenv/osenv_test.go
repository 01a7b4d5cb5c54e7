// SPDX-License-Identifier: Apache-2.0

package osenv

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	env := []string{"A=1", "AB=2", "A=3", "EMPTY=", "BARE", "X_1=4", "X_2=5"}
	for name, want := range map[string]string{"A": "1", "AB": "2", "EMPTY": "", "BARE": "", "MISSING": ""} {
		if got := Get(env, name); got != want {
			t.Errorf("Get(%s) = %q, want %q", name, got, want)
		}
	}
	given := slices.Clone(env)
	if got, want := Set(env, "A=9", "BARE=8"), []string{"AB=2", "EMPTY=", "X_1=4", "X_2=5", "A=9", "BARE=8"}; !slices.Equal(got, want) {
		t.Errorf("Set = %q, want %q", got, want)
	}
	if got, want := Without(env, "X_", "EMPTY="), []string{"A=1", "AB=2", "A=3", "BARE"}; !slices.Equal(got, want) {
		t.Errorf("Without = %q, want %q", got, want)
	}
	if !slices.Equal(env, given) {
		t.Errorf("the environment became %q", env)
	}
}

func TestDirs(t *testing.T) {
	if got, want := slices.Collect(Dirs("bin:/bin::.:/usr/bin:../x")), []string{"/bin", "/usr/bin"}; !slices.Equal(got, want) {
		t.Errorf("Dirs = %q, want %q", got, want)
	}
}

func program(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // past the umask, and setuid survives
		t.Fatal(err)
	}
	return path
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	program(t, filepath.Join(dir, "here"), 0o755)
	first := program(t, filepath.Join(dir, "a/twice"), 0o755)
	program(t, filepath.Join(dir, "b/twice"), 0o755)
	program(t, filepath.Join(dir, "a/plain"), 0o644)
	second := program(t, filepath.Join(dir, "b/plain"), 0o755)
	if err := os.Mkdir(filepath.Join(dir, "a/folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{".", "", "a", dir + "/a", dir + "/missing", dir + "/b"}, ":")
	for name, want := range map[string]string{
		"twice": first, "plain": second, "folder": "", "none": "",
		"here": "", // the current directory may be the container's to write
	} {
		if got, _ := LookPath(name, path); got != want {
			t.Errorf("LookPath(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestExpandHome checks that only ~ and ~/ stand for the home directory.
func TestExpandHome(t *testing.T) {
	t.Setenv("HOME", "/home/you")
	for path, want := range map[string]string{"~": "/home/you", "~/a": "/home/you/a", "~other/a": "~other/a", "/~/a": "/~/a", "a": "a", "": ""} {
		if got, err := ExpandHome(path); got != want || err != nil {
			t.Errorf("ExpandHome(%q) = %q, %v, want %q", path, got, err, want)
		}
	}
}
