// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
)

// binds are bind mounts of a host, and whether the container, which has work and file, can
// write through the name.
var binds = []struct {
	source, target string
	name           string
	want           bool
}{
	{"work", "alias", "alias/bin", true},
	{"work/bin", "part", "part", true},
	{"work/bin", "part", "part/not-there", true},
	{"home", "above", "above/work/bin", true},
	{"other", "work/sub", "other/bin", true}, // the engine binds recursively
	{"usr", "clean", "clean/bin", false},
	{"third", "read-only/sub", "third/bin", true}, // many engines make only the mount itself read-only
	{"third", "read-only/sub", "read-only/sub", true},
	{"third", "read-only/sub", "read-only/bin", false},
	{"fourth", "lonely/sub", "fourth/bin", false},
	{"fourth", "lonely/sub", "lonely/bin", true},
	{"fifth", "both/sub", "fifth/bin", false},
	{"home/usr", "inside", "inside/tool", false},
}

// TestWritableBinds gives the host another name for a directory of the container by a bind mount.
// No link leads there, and for a part of it no parent directory has its identity.
//
// Attack 62.
func TestWritableBinds(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	base := treeOf(t, []string{"home/work/bin", "home/work/sub", "home/usr", "usr/bin", "other/bin", "alias", "part", "above", "clean", "inside",
		"third/bin", "read-only/sub", "fourth", "lonely/sub", "fifth", "both/sub"}, map[string]string{"work": "home/work"})
	made := map[string]bool{}
	for _, b := range binds {
		if !made[b.target] {
			dirtest.Mount(t, filepath.Join(base, b.source), filepath.Join(base, b.target), "", unix.MS_BIND, "")
		}
		made[b.target] = true
	}
	table := tableOf(t,
		Point{Target: "/w", Source: filepath.Join(base, "home/work"), Bind: true},
		Point{Target: "/ro", Source: filepath.Join(base, "read-only"), Bind: true, ReadOnly: true},
		Point{Target: "/lonely", Source: filepath.Join(base, "lonely"), Bind: true, NonRecursive: true},
		Point{Target: "/both", Source: filepath.Join(base, "both"), Bind: true, ReadOnly: true, NonRecursive: true},
	)
	for _, b := range binds {
		if got := table.Writable(filepath.Join(base, b.name)); got != b.want {
			t.Errorf("Writable(%s) = %v, want %v", b.name, got, b.want)
		}
	}
}

// TestReadOnlyBelow mounts a directory of the host below a .git that is read-only in the container.
func TestReadOnlyBelow(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	base := treeOf(t, []string{"repo/.git/hooks", "repo/.git.d", "hooks"}, nil)
	readOnly := func() bool {
		table := tableOf(t,
			Point{Target: "/w", Source: filepath.Join(base, "repo"), Bind: true},
			Point{Target: "/w/.git", Source: filepath.Join(base, "repo/.git"), Bind: true, ReadOnly: true},
		)
		d, err := table.Open("/w")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		return table.ReadOnly(d, "/w", ".git")
	}
	// Its name begins as that of the other one does.
	dirtest.Mount(t, filepath.Join(base, "hooks"), filepath.Join(base, "repo/.git.d"), "", unix.MS_BIND, "")
	if !readOnly() {
		t.Error("a mount beside .git makes it writable")
	}
	dirtest.Mount(t, filepath.Join(base, "hooks"), filepath.Join(base, "repo/.git/hooks"), "", unix.MS_BIND, "")
	if readOnly() {
		t.Error("with a writable mount below it, .git counts as read-only")
	}
}

// TestWritableMissing checks paths that do not exist yet, and a mount without a target.
//
// Attack 62.
func TestWritableMissing(t *testing.T) {
	base := treeOf(t, []string{"work", "volume/bin", "usr"}, map[string]string{"later": "work/bin", "usr/bin": "../work/none"})
	table := tableOf(t, Point{Target: "/w", Source: filepath.Join(base, "work"), Bind: true},
		Point{Source: filepath.Join(base, "volume")}, Point{Source: filepath.Join(base, "usr"), ReadOnly: true})
	for name, want := range map[string]bool{
		"work/bin": true, "later": true, "later/deep/er": true, "usr/bin": true, "volume/bin": true, "usr/lib": false, "none/bin": false, "work-not": false,
	} {
		if got := table.Writable(filepath.Join(base, name)); got != want {
			t.Errorf("Writable(%s) = %v, want %v", name, got, want)
		}
	}
	if d, err := table.Open(filepath.Join(base, "volume")); err == nil {
		d.Close()
		t.Error("a call can be made in a mount without a target")
	}
}

// TestWritableFile mounts a single file of a directory: the container can write that file, but not the
// directory.
//
// Attack 62.
func TestWritableFile(t *testing.T) {
	base := treeOf(t, []string{"bin", "sbin"}, map[string]string{"link": "bin"})
	for _, name := range []string{"bin/python3", "sbin/tool"} {
		if err := os.WriteFile(filepath.Join(base, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	table := tableOf(t, Point{Target: "/python3", Source: filepath.Join(base, "bin/python3"), Bind: true},
		Point{Target: "/tool", Source: filepath.Join(base, "sbin/tool"), Bind: true, ReadOnly: true})
	for name, want := range map[string]bool{"bin": true, "link": true, "sbin": false, ".": false} {
		if got := table.ControlsFilesIn(filepath.Join(base, name)); got != want {
			t.Errorf("Supplies(%s) = %v, want %v", name, got, want)
		}
	}
	if table.Writable(filepath.Join(base, "bin")) {
		t.Error("a directory counts as writable for one of its files")
	}
}

// TestOtherContainersSupply checks directories that containers of other sessions write and that the mount table does
// not contain. They count as writable, and are not in WritableSources.
//
// Attack 235.
func TestOtherContainersSupply(t *testing.T) {
	base := treeOf(t, []string{"work", "repo/.git/hooks", "bin", "opt/lib"}, map[string]string{"link": "bin", "usr": "opt"})
	at := func(name string) string { return filepath.Join(base, name) }
	table := tableOf(t, Point{Target: "/w", Source: at("work"), Bind: true}, Point{Target: "/r", Source: at("repo"), Bind: true, ReadOnly: true})
	d, err := table.Open("/r")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	own := table.WritableSources()
	for _, tt := range []struct {
		name     string
		others   []string
		writable []string
		readOnly bool // the repository
	}{
		{"nobody", nil, nil, true},
		{"a directory, by its links too", []string{at("bin")}, []string{"bin", "bin/tool", "link/tool"}, true},
		{"what is not there", []string{at("later"), ""}, []string{"later/bin"}, true},
		{"a directory above", []string{at("opt")}, []string{"opt/lib", "usr/lib/x"}, true},
		{"the work tree", []string{at("repo")}, []string{"repo/.git/config", "repo/.git/hooks/pre-commit"}, false},
		{"a part of .git", []string{at("repo/.git/hooks")}, []string{"repo/.git/hooks/pre-commit"}, false},
		{"all that was before is forgotten", []string{at("none")}, nil, true},
	} {
		table.SetOthers(tt.others)
		for _, name := range []string{"bin", "bin/tool", "link/tool", "later/bin", "opt/lib", "usr/lib/x", "repo/.git/config", "repo/.git/hooks/pre-commit"} {
			want := slices.Contains(tt.writable, name)
			if got := table.Writable(at(name)); got != want || table.ControlsFilesIn(at(name)) != want {
				t.Errorf("%s: Writable(%s) = %v, want %v", tt.name, name, got, want)
			}
			if got := table.Writer(at(name)); want != (got == "the container of another session") {
				t.Errorf("%s: Writer(%s) = %s", tt.name, name, got)
			}
		}
		if got := table.ReadOnly(d, "/r", ".git"); got != tt.readOnly {
			t.Errorf("%s: ReadOnly = %v, want %v", tt.name, got, tt.readOnly)
		}
		if !table.Writable(at("work/x")) || table.Writer(at("work/x")) != "the container" || !slices.Equal(table.WritableSources(), own) {
			t.Errorf("%s: what is its own has changed: %q", tt.name, table.WritableSources())
		}
	}
}
