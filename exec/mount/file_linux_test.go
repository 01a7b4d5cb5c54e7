// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilePath checks that a file of the container has the host's path for it. Without mounted directories, the
// container has no file of the host.
func TestFilePath(t *testing.T) {
	root := tree(t)
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nested/f", "w/a/passwd"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mounted := newTable(t, Default{}, Point{Target: "/root", Source: root + "/w", Bind: true}, Point{Target: "/root/a/b", Source: root + "/nested", Bind: true},
		Point{Target: "/one", Source: root + "/nested/f", Bind: true})
	fallback := newTable(t, Default{Source: root + "/w/a", Target: "/"})
	tests := []struct {
		name, path string
		table      *Table
		want       string // empty: there is none
	}{
		{"in a mount", "/root/file", mounted, root + "/w/file"},
		{"not cleaned", "//root/./file", mounted, root + "/w/file"},
		{"a directory", "/root/a", mounted, root + "/w/a"},
		{"in a mount in a mount", "/root/a/b/f", mounted, root + "/nested/f"},
		{"behind a mount", "/root/a/b/x/../../file", mounted, ""},
		{"a mount in a mount", "/root/a/b", mounted, root + "/nested"},
		{"the mount", "/root", mounted, root + "/w"},
		{"the mount, not cleaned", "/root/a/../.", mounted, root + "/w"},
		{"a file that is mounted", "/one", mounted, ""},
		{"the directory without a mount", "/", fallback, ""},
		{"a link", "/root/out", mounted, ""},
		{"elsewhere", "/etc/passwd", mounted, ""},
		{"elsewhere, without a mount", "/etc/passwd", fallback, ""},
		{"without a mount", "/passwd", fallback, ""},
		{"below nothing, without a mount", "/var/lib/x", fallback, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := tt.table.File(tt.path)
			if err != nil {
				if tt.want != "" {
					t.Error(err)
				}
				return
			}
			defer f.Close()
			if f.Path() != tt.want {
				t.Errorf("File(%q).Path() = %q, want %q", tt.path, f.Path(), tt.want)
			}
		})
	}
}
