// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// TestMountsFor checks that another container gets this one's directories of the host, and nothing that
// another mount hides from this one.
//
// Attack 201.
func TestMountsFor(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"w/sub/deep", "ro/sub", "w2"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	bind := func(target, source string, ro bool) Point {
		return Point{Target: target, Source: at(source), Bind: true, ReadOnly: ro}
	}
	mounts := []Point{
		bind("/w", "w", false), bind("/sub", "w/sub", false), bind("/ro", "ro", true), bind("/rosub", "ro/sub", false),
		bind("/w2", "w2", false), bind("/file", "file", false), {Target: "/vol", Source: at("w2")},
		{Target: "/w/vol", Source: at("w2")}, bind("/w/file", "file", false), bind("/w/vol/in", "ro", false), bind("/w/lost", "lost", false),
	}
	all := []Point{mounts[0], mounts[1], mounts[2], mounts[3], mounts[4], {Target: "/w/vol", ReadOnly: true},
		{Target: "/w/file", ReadOnly: true, File: true}, mounts[9], {Target: "/w/lost", ReadOnly: true}}
	for _, tt := range []struct {
		name   string
		mounts []Point
		cwd    string
		want   []Point
		at     string
	}{
		{"in one", mounts, "/w/sub/", all, "/w/sub"},
		{"in one within another", mounts, "/sub/deep", all, "/sub/deep"},
		{"one over another", []Point{bind("/w", "w", false), bind("/w", "w2", true)}, "/w", []Point{bind("/w", "w2", true)}, "/w"},
		{"none", []Point{{Target: "/vol"}}, "/app", []Point{{Target: at("w2"), Source: at("w2"), Bind: true}}, at("w2")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table, err := NewTable(tt.mounts, Default{Source: at("w2"), Target: "/app"})
			if err != nil {
				t.Fatal(err)
			}
			defer table.Close()
			got, cwd := table.MountsFor(tt.cwd)
			if !slices.Equal(got, tt.want) || cwd != tt.at {
				t.Errorf("MountsFor(%q) = %v, %q, want %v, %q", tt.cwd, got, cwd, tt.want, tt.at)
			}
		})
	}
}

// TestShareOfImage checks that a container gets the held directories or an error. Its root is a
// directory that contains the sources as if they were mounted there.
//
// Attack 200.
func TestShareOfImage(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for _, d := range []string{"w/in", "image/w2", "other"} {
		if err := os.MkdirAll(at(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/image", at("link")); err != nil { // absolute, in the container
		t.Fatal(err)
	}
	table, err := NewTable([]Point{{Target: "/w", Source: at("w"), Bind: true}, {Target: "/w/in", Source: at("w/in"), Bind: true},
		{Target: "/link/w2", Source: at("image/w2"), Bind: true}, {Target: "/w/hidden"}}, Default{})
	if err != nil {
		t.Fatal(err)
	}
	top, err := dir.Hold(root)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	mounts, _ := table.MountsFor("/w")
	look := func(mounts ...Point) error { return table.CheckMounts(top.FD(), mounts) }
	if err := look(mounts[:3]...); err != nil {
		t.Errorf("all as it was: %v", err)
	}
	if err := os.Mkdir(at("w/hidden"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := look(mounts...); err == nil {
		t.Error("nothing hides what is to be hidden, and it is not seen")
	}
	if err := os.Rename(at("w/in"), at("moved")); err != nil {
		t.Fatal(err)
	}
	if err := look(mounts[:3]...); err == nil {
		t.Error("one has gone, and it is not seen")
	}
	if err := os.Symlink(at("moved"), at("w/in")); err != nil {
		t.Fatal(err)
	}
	if err := look(mounts[:3]...); err == nil {
		t.Error("a link leads to what is held, from where it was mounted, and it is not seen")
	}
	if err := os.Rename(at("other"), at("w/other")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(at("w/in")), os.Rename(at("w/other"), at("w/in"))); err != nil {
		t.Fatal(err)
	}
	if err := look(mounts[:3]...); !errors.Is(err, dir.ErrReplaced) {
		t.Errorf("another directory in its place: %v, want %v", err, dir.ErrReplaced)
	}
	table.Close()
	if err := look(mounts[0]); err == nil {
		t.Error("a closed table knows what is held")
	}
}
