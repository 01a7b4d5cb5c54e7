// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestShare: what another container is given is what this one has, but for what it could
// have replaced.
func TestShare(t *testing.T) {
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
	bind := func(target, source string, ro bool) Mount {
		return Mount{Target: target, Source: at(source), Bind: true, ReadOnly: ro}
	}
	mounts := []Mount{
		bind("/w", "w", false), bind("/sub", "w/sub", false), bind("/ro", "ro", true), bind("/rosub", "ro/sub", false),
		bind("/w2", "w2", false), bind("/file", "file", false), {Target: "/vol", Source: at("w2")},
	}
	for _, tt := range []struct {
		name   string
		mounts []Mount
		cwd    string
		want   []Mount
		at     string
	}{
		{"in one", mounts, "/w/sub/", []Mount{mounts[0], mounts[2], mounts[3], mounts[4]}, "/w/sub"},
		{"in one that could be replaced", mounts, "/sub/deep", []Mount{mounts[0], mounts[1], mounts[2], mounts[3], mounts[4]}, "/sub/deep"},
		{"none", []Mount{{Target: "/vol"}}, "/anywhere", []Mount{{Target: at("w2"), Source: at("w2"), Bind: true}}, at("w2")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table, err := NewTable(tt.mounts, at("w2"))
			if err != nil {
				t.Fatal(err)
			}
			defer table.Close()
			got, cwd := table.Share(tt.cwd)
			if !slices.Equal(got, tt.want) || cwd != tt.at {
				t.Errorf("Share(%q) = %v, %q, want %v, %q", tt.cwd, got, cwd, tt.want, tt.at)
			}
		})
	}
}

func TestSame(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) int {
		d, err := openRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { Close(d) })
		return d
	}
	if a, b := open(dir), open(dir+"/."); !Same(a, b) {
		t.Error("a directory is not the same as itself")
	}
	if a, b := open(dir), open(filepath.Dir(dir)); Same(a, b) {
		t.Error("two directories are the same")
	}
	if Same(-1, -1) {
		t.Error("nothing is the same as nothing")
	}
}
