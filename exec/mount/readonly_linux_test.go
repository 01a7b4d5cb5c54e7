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

// treeOf makes directories, and links for names with a target, and returns their directory.
func treeOf(t *testing.T, dirs []string, links map[string]string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

func tableOf(t *testing.T, mounts ...Point) *Table {
	t.Helper()
	table, err := NewTable(mounts, Default{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// TestWritable checks paths that lead through the container's mount, although their text does not show that.
//
// Attack 62.
func TestWritable(t *testing.T) {
	base := treeOf(t, []string{"work/bin", "usr/bin"}, map[string]string{
		"mount": "work", "bin": "work/bin", "work/bin/link": "../../usr/bin/tool", "in": "usr/../work/bin/x", "out": "usr/bin", "loop": "loop",
	})
	table := tableOf(t, Point{Target: "/w", Source: filepath.Join(base, "mount"), Bind: true}, Point{Target: "/ro", Source: filepath.Join(base, "usr"), Bind: true, ReadOnly: true})
	for name, want := range map[string]bool{
		"work/bin/x": true, "mount/bin/x": true, "bin/x": true, "bin/link": true, "in": true, "work": true,
		"usr/bin/tool": false, "out/tool": false, "work-not/x": false, "loop": false, "none/x": false,
	} {
		if got := table.Writable(filepath.Join(base, name)); got != want {
			t.Errorf("Writable(%s) = %v, want %v", name, got, want)
		}
	}
	if got, want := Links(filepath.Join(base, "bin/link")), []string{filepath.Join(base, "bin"), filepath.Join(base, "work/bin/link"), filepath.Join(base, "usr/bin/tool")}; !slices.Equal(got, want) {
		t.Errorf("Way = %q, want %q", got, want)
	}
}

// TestReadOnlyGitDir tries the ways to write a .git that is mounted read-only.
//
// Attacks 88, 89.
func TestReadOnlyGitDir(t *testing.T) {
	base := treeOf(t, []string{"work/.git/hooks", "work/sub/.git", "work/plain/.git"}, map[string]string{"again": "work"})
	at := func(target, source string, readOnly bool) Point {
		return Point{Target: target, Source: filepath.Join(base, source), Bind: true, ReadOnly: readOnly}
	}
	work, git, sub := at("/w", "work", false), at("/w/.git", "work/.git", true), at("/w/sub/.git", "work/sub/.git", true)
	for _, tt := range []struct {
		name   string
		mounts []Point
		cwd    string
		want   bool
	}{
		{"as it should be", []Point{work, git}, "/w", true},
		{"all of it read-only", []Point{at("/w", "work", true)}, "/w/plain", true},
		{"not mounted", []Point{work}, "/w", false},
		{"mounted to be written", []Point{work, at("/w/.git", "work/.git", false)}, "/w", false},
		{"another directory's", []Point{work, at("/w/.git", "work/sub/.git", true)}, "/w", false},
		{"the workspace once more", []Point{work, git, at("/x", "work", false)}, "/w", false},
		{"by a link once more", []Point{work, git, at("/x", "again", false)}, "/w", false},
		{"the workspace once more, guarded too", []Point{work, git, at("/x", "work", false), at("/x/.git", "work/.git", true)}, "/w", true},
		{"its hooks elsewhere", []Point{work, git, at("/x", "work/.git/hooks", false)}, "/w", false},
		{"its hooks where they are", []Point{work, git, at("/w/.git/hooks", "work/.git/hooks", false)}, "/w", false},
		{"below", []Point{work, sub}, "/w/sub", true},
		{"below, not there", []Point{work, git}, "/w/sub", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := tableOf(t, tt.mounts...)
			d, err := table.Open(tt.cwd)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if got := table.ReadOnly(d, tt.cwd, ".git"); got != tt.want {
				t.Errorf("Guarded = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestBelow gives one directory two names by a bind mount: a path below one name is below the
// other.
//
// Attack 91.
func TestBelow(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	base := treeOf(t, []string{"work/.git/hooks", "again", "other"}, nil)
	work, again := filepath.Join(base, "work"), filepath.Join(base, "again")
	dirtest.Mount(t, work, again, "", unix.MS_BIND, "")
	for _, tt := range []struct {
		p, dir, rest string
		ok           bool
	}{
		{work + "/.git", work, ".git", true}, {work + "/.git", again, ".git", true}, {again + "/.git/hooks", work + "/.git", "hooks", true}, {work, again, ".", true},
		{work, work + "/.git", "", false}, {base + "/other", again, "", false}, {work + "/.git", base + "/missing", "", false},
	} {
		if rest, ok := belowAlias(tt.p, tt.dir); ok != tt.ok || ok && rest != tt.rest {
			t.Errorf("below(%q, %q) = %q, %v, want %q, %v", tt.p, tt.dir, rest, ok, tt.rest, tt.ok)
		}
	}
	guard := []Point{{Target: "/w", Source: work, Bind: true}, {Target: "/w/.git", Source: work + "/.git", Bind: true, ReadOnly: true}}
	for _, source := range []string{again, again + "/.git", again + "/.git/hooks"} {
		table := tableOf(t, append(guard, Point{Target: "/x", Source: source, Bind: true})...)
		d, err := table.Open("/w")
		if err != nil {
			t.Fatal(err)
		}
		if table.ReadOnly(d, "/w", ".git") {
			t.Errorf("with a mount of %s, too, .git counts as guarded", source)
		}
		d.Close()
	}
}

// TestReadOnlyGitDirIsHeld replaces the caller's directory between the check of .git and the opening of the directory.
//
// Attack 88.
func TestReadOnlyGitDirIsHeld(t *testing.T) {
	base := treeOf(t, []string{"work/sub/.git", "work/evil/.git"}, nil)
	table := tableOf(t, Point{Target: "/w", Source: filepath.Join(base, "work"), Bind: true},
		Point{Target: "/w/sub/.git", Source: filepath.Join(base, "work/sub/.git"), Bind: true, ReadOnly: true})
	for _, move := range [][2]string{{"sub", "gone"}, {"evil", "sub"}} {
		if err := os.Rename(filepath.Join(base, "work", move[0]), filepath.Join(base, "work", move[1])); err != nil {
			t.Fatal(err)
		}
	}
	evil, err := table.Open("/w/sub")
	if err != nil {
		t.Fatal(err)
	}
	defer evil.Close()
	if table.ReadOnly(evil, "/w/sub", ".git") {
		t.Error("a .git that was put there counts as guarded")
	}
}
