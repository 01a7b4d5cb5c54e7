// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBareWorkspace: the word behind --workspace is no value of it, and no image either.
func TestBareWorkspace(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // of the hint; empty: docker run judges
	}{
		{[]string{"--workspace", "/home/you/app", "img"}, "--workspace=/home/you/app"},
		{[]string{"--workspace", "./app", "img"}, "--workspace=./app"},
		{[]string{"--workspace", "..", "img"}, "--workspace=.."},
		{[]string{"--workspace", "~/app", "img"}, "--workspace=~/app"},
		{[]string{"--workspace", "img", "/bin/sh"}, ""},
		{[]string{"--workspace=/x", "img"}, ""},
		{[]string{"--workspace"}, ""},
		{[]string{"/bin/sh"}, ""},
	} {
		cmd := newRunCommand(testCLI(t, io.Discard))
		if err := cmd.ParseFlags(tt.args); err != nil {
			t.Fatal(err)
		}
		err := bareWorkspace(cmd.Flags(), cmd.Flags().Args())
		if got := hintOf(err); (err == nil) != (tt.want == "") || got != tt.want {
			t.Errorf("%q: %v, hint %q, want hint %q", tt.args, err, got, tt.want)
		}
	}
}

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
		if got, err := directory(dir); got != want || err != nil {
			t.Errorf("directory(%q) = %q, %v, want %q", dir, got, err, want)
		}
	}
	if got, err := directory("~x"); err != nil || !strings.HasSuffix(got, "/~x") {
		t.Errorf("a directory of that name: %q, %v", got, err)
	}
	if _, err := directory("~/no"); err == nil || !strings.Contains(err.Error(), home+"/no: no such file") {
		t.Errorf("a missing one: %v", err)
	}
}
