// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestUpdateWritable checks commands that were found in a directory of PATH which the container can
// write: the next directory's program is used. A command that was given by its path is refused.
//
// Attack 62.
func TestUpdateWritable(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, usr := filepath.Join(base, "work"), filepath.Join(base, "usr")
	for _, name := range []string{"work/bin/tool", "work/bin/only", "usr/tool", "usr/mine"} {
		writeProgram(t, filepath.Join(base, name))
	}
	t.Setenv("PATH", work+"/bin:"+usr)
	found := func(name, path string) state.Command { return state.Command{Name: name, Path: path, Found: true} }
	given := []state.Command{found("tool", work+"/bin/tool"), found("only", work+"/bin/only"), found("mine", usr+"/mine"), {Name: "named", Path: work + "/bin/tool"}}
	shell := found("shell", work+"/bin/tool")
	home := filepath.Join(base, "home")
	mc := testCheck(home, state.Session{ID: "0123456789ab", Commands: given, Shell: &shell})
	mc.config.Load()
	c := container.InspectResponse{Mounts: []container.MountPoint{{Type: mount.TypeBind, Source: work, Destination: "/w", RW: true}}}
	notes := mc.adapt(c)
	for i, want := range []string{usr + "/tool", work + "/bin/only", usr + "/mine", work + "/bin/tool"} {
		if got := mc.record.Session().Commands[i].Path; got != want {
			t.Errorf("%s runs %s, want %s", given[i].Name, got, want)
		}
	}
	if mc.record.Session().Shell.Path != usr+"/tool" || len(notes) != 2 || !strings.Contains(notes[0], "--proxy tool runs "+usr+"/tool") {
		t.Errorf("the shell is %s; %q", mc.record.Session().Shell.Path, notes)
	}
	if given[0].Path != work+"/bin/tool" {
		t.Error("the caller's list was changed")
	}
	if err := mc.refuse(c); err == nil || !strings.Contains(err.Error(), work+"/bin/only") {
		t.Errorf("preflight = %v", err)
	}
	if got := strings.Join(mc.config.WritableCode(mc.access(c)), "\n"); !strings.Contains(got, `PATH has "`+work+`/bin", which the container can write`) {
		t.Errorf("writable code = %q", got)
	}
	mc.record.Change(func(rec *state.Session) { rec.RemoteFiles = true })
	if got := mc.config.WritableCode(mc.access(c)); strings.Contains(strings.Join(got, "\n"), "PATH") {
		t.Errorf("of an engine that mounts nothing of this host's: %q", got)
	}
}

// TestInterpreterIsWritable proxies a script whose interpreter is in the container's mount.
//
// Attack 214.
func TestInterpreterIsWritable(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeProgram(t, filepath.Join(base, "work/python"))
	writeFileOrLink(t, filepath.Join(base, "usr/tool"), "#!"+base+"/work/python\n")
	home := filepath.Join(base, "home")
	rec := state.Session{ID: "0123456789ab", Commands: []state.Command{{Name: "tool", Path: filepath.Join(base, "usr/tool")}}}
	mc := testCheck(home, rec)
	for rw, want := range map[bool]string{true: base + "/work/python, which is code of " + base + "/usr/tool, which --proxy tool runs", false: ""} {
		c := container.InspectResponse{Mounts: []container.MountPoint{{Type: mount.TypeBind, Source: filepath.Join(base, "work"), Destination: "/w", RW: rw}}}
		if err := mc.refuse(c); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("preflight = %v, want %q", err, want)
		}
	}
}

// TestDeniedHasNoPath mounts the current directory, as most people do. A command that is denied has
// no program: nothing of it can be written, and it was refused as if it were the directory.
func TestDeniedHasNoPath(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFileOrLink(t, filepath.Join(base, "work/file"), "")
	t.Chdir(filepath.Join(base, "work"))
	home := filepath.Join(base, "home")
	rec := state.Session{ID: "0123456789ab", Commands: []state.Command{{Name: "tool", Action: "deny"}}}
	mc := testCheck(home, rec)
	c := container.InspectResponse{Mounts: []container.MountPoint{{Type: mount.TypeBind, Source: filepath.Join(base, "work"), Destination: "/w", RW: true}}}
	if err := mc.refuse(c); err != nil {
		t.Error(err)
	}
}

func writeProgram(t *testing.T, file string) {
	t.Helper()
	writeFileOrLink(t, file, "#!/bin/sh\n")
	if err := os.Chmod(file, 0o700); err != nil {
		t.Fatal(err)
	}
}
