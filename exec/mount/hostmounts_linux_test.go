// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
)

// TestResolve has a protected file below directories that have other names by bind mounts. It checks
// for each mount source whether it leads to the file.
//
// Attack 119.
func TestResolve(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	base := treeOf(t, []string{
		"home/me/.docker/state/sub", "home/me/work", "home/you", "to-home", "to-me", "to-state", "to-sub", "to-work", "other", "deep/in", "over/x", "alias-of-alias",
	}, map[string]string{"link": "home/me/.docker", "way": "to-work/tool"})
	for _, f := range []string{"home/me/.docker/state/file", "home/me/work/tool"} {
		if err := os.WriteFile(filepath.Join(base, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(base, name) }
	if err := os.Link(in("home/me/.docker/state/file"), in("other/hard-link")); err != nil {
		t.Fatal(err)
	}
	for _, m := range [][2]string{
		{"home", "to-home"}, {"home/me", "to-me"}, {"home/me/.docker/state", "to-state"}, {"home/me/.docker/state/sub", "to-sub"}, {"home/me/work", "to-work"}, {"to-home/me", "alias-of-alias"},
	} {
		dirtest.Mount(t, in(m[0]), in(m[1]), "", unix.MS_BIND, "")
	}
	dirtest.Mount(t, "none", in("over"), "tmpfs", 0, "") // hides over/x
	v, err := ReadHostMounts()
	if err != nil {
		t.Fatal(err)
	}
	const state, file = "home/me/.docker/state", "home/me/.docker/state/file"
	for _, tt := range []struct {
		path, source string
		want         bool
	}{
		{state, "home", true}, {state, "home/me", true}, {state, state, true}, {state, "home/you", false}, {state, "home/me/work", false}, {state, state + "/sub", false},
		{state, "to-home", true}, {state, "to-home/me/.docker", true}, {state, "to-me", true}, {state, "alias-of-alias", true}, {state, "to-state", true}, {state, "to-sub", false},
		{state, "link", true}, {state, "link/state", true}, {state, "other", false}, {state, "deep/in", false},
		{state + "/sub/missing", "to-me/.docker", true}, {state + "/sub/missing", "to-sub", true},
		{"to-sub", state, true}, {"to-sub", "to-me", true}, {"to-state/sub", "home/me/.docker", true}, {"to-work", state, false},
		{file, "other/hard-link", true}, {file, "home/me/work/tool", false},
		{"way", "home/me/work", true}, {"way", "to-work", true}, {"way", "alias-of-alias/work", true}, {"way", "home/you", false},
		{"over/x", "over", true}, {"over/x", "other", false},
	} {
		if got := v.Resolve(in(tt.path)).Through(v.Locate(in(tt.source))); got != tt.want {
			t.Errorf("Resolve(%s).Through(%s) = %v, want %v", tt.path, tt.source, got, tt.want)
		}
	}
	if got := v.Locate(base + "/link/../work").Path; got != in("home/me/work") {
		t.Errorf("Locate follows .. behind a link to %s, want where the kernel goes", got)
	}
	if below := v.MountsBelow(in("to-home")); len(below) != 0 {
		t.Errorf("MountsBelow(to-home) = %+v, want none", below)
	}
	dirtest.Mount(t, in(state), in("deep/in"), "", unix.MS_BIND, "")
	if v, err = ReadHostMounts(); err != nil {
		t.Fatal(err)
	}
	below := v.MountsBelow(in("deep"))
	if len(below) != 1 || !below[0].FSPath().In(v.Locate(in(state)).FSPath) {
		t.Errorf("MountsBelow(deep) = %+v, want the state", below)
	}
}

// TestPlace finds the mount of a path below nested mounts, one on top of another, and names
// with blanks.
func TestPlace(t *testing.T) {
	mounts, err := ParseMountinfo(`27 1 254:0 / / rw - ext4 /dev/vda rw
28 27 0:9 / /none/home rw - tmpfs x rw
29 27 8:1 /a\040b /none/home rw - ext4 /dev/sda1 rw
30 29 8:1 /a\040b/me/c\134d /none/home/me/x\011y ro,nosuid - ext4 /dev/sda1 rw
`)
	if err != nil {
		t.Fatal(err)
	}
	v := &HostMounts{mounts}
	for _, tt := range []struct{ path, dev, root string }{
		{"/none/passwd", "254:0", "/none/passwd"},
		{"/none/home", "8:1", "/a b"},
		{"/none/home/me/.docker", "8:1", "/a b/me/.docker"},
		{"/none/homes", "254:0", "/none/homes"},
		{"/none/home/me/x\ty/z", "8:1", `/a b/me/c\d/z`},
	} {
		if got, want := v.Locate(tt.path).FSPath, (FSPath{tt.dev, tt.root}); got != want {
			t.Errorf("the place of %q is %q, want %q", tt.path, got, want)
		}
	}
	for i, want := range []bool{false, false, false, true} {
		if got := v.mounts[i].ReadOnly; got != want {
			t.Errorf("mount %d is read-only: %v, want %v", i, got, want)
		}
	}
}

// TestParseMountinfoRefuses checks invalid mount tables: a table with a line that cannot be parsed is
// refused.
func TestParseMountinfoRefuses(t *testing.T) {
	const line = "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
	for _, text := range []string{"short\n", line + "28 27\n", "27 1 254 / / rw - ext4 /dev/vda rw\n", `27 1 8:1 / /\9 rw - ext4 /dev/sda1 rw`, strings.Repeat("x", 1<<20)} {
		if all, err := ParseMountinfo(text); err == nil {
			t.Errorf("ParseMountinfo(%.40q) = %v, want an error", text, all)
		}
	}
	if all, err := ParseMountinfo(line); len(all) != 1 || err != nil {
		t.Errorf("ParseMountinfo = %v, %v", all, err)
	}
}

// TestReadMountinfoTooLong checks a mount table that exceeds the limit.
func TestReadMountinfoTooLong(t *testing.T) {
	for size, want := range map[int64]error{maxTable: nil, maxTable + 1: ErrTooLong} {
		file := filepath.Join(t.TempDir(), "mountinfo")
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadMountinfo(file); err != want {
			t.Errorf("ReadMountinfo of %d bytes: %v, want %v", size, err, want)
		}
	}
}
