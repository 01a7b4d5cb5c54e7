// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

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

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	make := program(t, filepath.Join(dir, "make"), 0o755)
	plain := program(t, filepath.Join(dir, "plain"), 0o644)
	commands := []state.Command{{Name: "make", Action: "allow"}, {Name: "git", Action: "deny"}, {Name: "mk", Action: "ask", Path: make}}
	if err := ResolveCommands(commands, dir, onHost); err != nil {
		t.Fatal(err)
	}
	got := []string{commands[0].Path, commands[1].Path, commands[2].Path}
	if want := []string{make, "", make}; !slices.Equal(got, want) {
		t.Errorf("paths = %q, want %q", got, want)
	}
	if err := ResolveCommands([]state.Command{{Name: "p", Action: "allow", Path: plain}}, dir, onHost); err == nil {
		t.Errorf("%s, which cannot be executed, was taken", plain)
	}
}

func TestMissingCommandIsOneLineAndAHint(t *testing.T) {
	err := ResolveCommands([]state.Command{{Name: "foo", Action: "allow"}}, t.TempDir(), onHost)
	var out bytes.Buffer
	if code := cli.Report(&out, cli.FailRun(err)); code != 125 {
		t.Errorf("code = %d, want 125", code)
	}
	want := "hostexec: command 'foo' not found in PATH\nhostexec: hint: install it on this host, or name its place: --proxy foo=/path/to/foo\n"
	if out.String() != want {
		t.Errorf("said %q, want %q", out.String(), want)
	}
}

func TestNeedsPrivs(t *testing.T) {
	dir := t.TempDir()
	plain := program(t, filepath.Join(dir, "plain"), 0o755)
	suid := program(t, filepath.Join(dir, "suid"), 0o755|os.ModeSetuid)
	sgid := program(t, filepath.Join(dir, "sgid"), 0o755|os.ModeSetgid)
	snap := program(t, filepath.Join(dir, "snap"), 0o755)
	viaSnap := filepath.Join(dir, "code")
	if err := os.Symlink(snap, viaSnap); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		plain: "", suid: "is setuid", sgid: "is setgid", viaSnap: "is a snap", dir + "/none": "",
	} {
		if got := needsPrivs(path); got != want {
			t.Errorf("needsPrivs(%s) = %q, want %q", filepath.Base(path), got, want)
		}
	}
}

func TestCommandsIn(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"a/make", "b/make", "a/makeinfo", "a/git", "a/hostexec"} {
		program(t, filepath.Join(dir, p), 0o755)
	}
	program(t, filepath.Join(dir, "a/makefile"), 0o644)
	got := commandsIn(dir+"/a:rel:"+dir+"/b", "make")
	if want := []string{"make", "makeinfo"}; !slices.Equal(got, want) {
		t.Errorf("commandsIn = %q, want %q", got, want)
	}
}

func onHost(state.Command) bool { return false }
