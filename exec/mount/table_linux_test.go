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

// The test binary is also the ordinary user.
func TestMain(m *testing.M) {
	if os.Getenv("MOUNT_TEST_AS") == "user" {
		openAsUser(os.Args[1])
		return
	}
	os.Exit(m.Run())
}

// onBothKernels runs test with openat2(2) and without it.
func onBothKernels(t *testing.T, test func(t *testing.T)) {
	t.Run("openat2", test)
	t.Run("walk", func(t *testing.T) {
		if dirtest.WithoutOpenat2(t) {
			test(t)
		}
	})
}

// tree makes a workspace w next to files that must not be reached.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, d := range []string{"w/a/b", "w-evil", "secret/a", "nested/x", "w/vol/x", "w/closed"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"w/out": "../secret", "w/abs": root + "/secret", "w/in": "a", "w/proc": "/proc/self/root"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "w/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(root, "w/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

func newTable(t *testing.T, fallback Default, mounts ...Point) *Table {
	t.Helper()
	table, err := NewTable(mounts, fallback)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// Attacks 82, 83, 85, 87.
func TestOpen(t *testing.T) {
	root := tree(t)
	mounts := []Point{
		{Target: "/w", Source: root + "/w", Bind: true},
		{Target: "/w/vol", Source: "/var/lib/docker/volumes/v/_data"},
		{Target: "/w/nested", Source: root + "/nested", Bind: true},
		{Target: "/w/a/b/conf", Source: root + "/w/file", Bind: true},
		{Target: "/gone", Source: root + "/nowhere", Bind: true},
		{Target: "/link", Source: root + "/w/out", Bind: true},
	}
	tests := []struct {
		name, cwd string
		want      string // below root
		mismatch  bool   // else: want == "" is another error
	}{
		{"root of a mount", "/w", "/w", false},
		{"below it", "/w/a/b", "/w/a/b", false},
		{"82 trailing dot", "/w/a/.", "/w/a", false},
		{"82 doubled slashes", "//w//a", "/w/a", false},
		{"82 dot dot inside", "/w/a/../a/b", "/w/a/b", false},
		{"82 dot dot out", "/w/../etc", "", true},
		{"82 common prefix", "/w-evil", "", true},
		{"82 not below any", "/etc", "", true},
		{"82 the root", "/", "", true},
		{"82 relative", "w/a", "", true},
		{"82 empty", "", "", true},
		{"82 unreachable", "(unreachable)/w", "", true},
		{"83 link out", "/w/out", "", false},
		{"83 through a link out", "/w/out/a", "", false},
		{"83 absolute link", "/w/abs/a", "", false},
		{"83 link that stays inside", "/w/in", "", false},
		{"83 magic link", "/w/proc/etc", "", false},
		{"85 volume", "/w/vol", "", true},
		{"85 below a volume, where the bind has the same name", "/w/vol/x", "", true},
		{"85 bind in a bind", "/w/nested/x", "/nested/x", false},
		{"85 single file", "/w/a/b/conf", "", true},
		{"85 source that is missing", "/gone/a", "", false},
		{"85 source that became a link", "/link/a", "", false},
		{"87 file", "/w/file", "", false},
		{"87 fifo", "/w/fifo", "", false},
		{"87 deleted", "/w/never", "", false},
		{"87 control characters", "/w/\x1b[2J", "", false},
	}
	onBothKernels(t, func(t *testing.T) {
		table := newTable(t, Default{}, mounts...)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				d, err := table.Open(tt.cwd)
				if err == nil {
					defer d.Close()
					if tt.want == "" || d.Path() != root+tt.want {
						t.Fatalf("Open(%q) = %q, want %q below %q", tt.cwd, d.Path(), tt.want, root)
					}
					return
				}
				if tt.want != "" || errors.Is(err, ErrMismatch) != tt.mismatch {
					t.Errorf("Open(%q): %v, want %q, mismatch %v", tt.cwd, err, tt.want, tt.mismatch)
				}
				if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Errorf("Open(%q): %+q is not printable ASCII", tt.cwd, err.Error())
				}
			})
		}
	})
}

// TestOpenOtherMount checks that Open crosses no mount that was made after the container's start.
//
// Attacks 86, 87.
func TestOpenOtherMount(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		table := newTable(t, Default{}, Point{Target: "/host", Source: "/", Bind: true})
		if d, err := table.Open("/host/proc"); err == nil {
			t.Errorf("Open crossed into %s, want an error", d.Path())
		}
	})
}

func TestDefault(t *testing.T) {
	root := tree(t)
	volume := Point{Target: "/v", Source: root + "/nested"}
	file := Point{Target: "/f", Source: root + "/w/file", Bind: true}
	bind := Point{Target: "/b", Source: root + "/nested", Bind: true}
	gone := Point{Target: "/g", Source: root + "/gone", Bind: true}
	app := Default{Source: root + "/w", Target: "/app/"}
	all := Default{Source: root + "/w", Target: "/app", All: true}
	tests := []struct {
		name     string
		fallback Default
		mounts   []Point
		cwd      string
		want     string
	}{
		{"the one directory", app, nil, "/app", "/w"},
		{"the same, not cleaned", app, nil, "//app/x/..", "/w"},
		{"below it", app, nil, "/app/sub", ""},
		{"above it", app, nil, "/", ""},
		{"beside it", app, nil, "/application", ""},
		{"elsewhere", app, nil, "/build", ""},
		{"no directory", app, nil, "", ""},
		{"the host's name for it", app, nil, root + "/w", ""},
		{"no target", Default{Source: root + "/w"}, nil, "/build", ""},
		{"no target: the root", Default{Source: root + "/w"}, nil, "/", ""},
		{"a volume elsewhere", app, []Point{volume}, "/v", ""},
		{"a volume there", Default{Source: root + "/w", Target: "/v"}, []Point{volume}, "/v", "/w"},
		{"below a volume there", Default{Source: root + "/w", Target: "/v"}, []Point{volume}, "/v/x", ""},
		{"a single file", app, []Point{file}, "/app", "/w"},
		{"all: any", all, nil, "/any/where", "/w"},
		{"all: a volume", all, []Point{volume}, "/v", "/w"},
		{"all: a single file", all, []Point{file}, "/", "/w"},
		{"a bind", app, []Point{bind}, "/app", ""},
		{"all: a bind", all, []Point{bind}, "/any/where", ""},
		{"all: a bind that cannot be held", all, []Point{gone}, "/any/where", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := newTable(t, tt.fallback, tt.mounts...).Open(tt.cwd)
			got := ""
			if err == nil {
				got = strings.TrimPrefix(d.Path(), root)
				d.Close()
			}
			if got != tt.want || got == "" && !errors.Is(err, ErrMismatch) {
				t.Errorf("Open(%q) = %q, %v, want %q", tt.cwd, got, err, tt.want)
			}
		})
	}
	if _, err := NewTable(nil, Default{Source: root + "/nowhere"}); err == nil {
		t.Error("NewTable with a missing fallback = nil, want an error")
	}
	if _, err := newTable(t, Default{}).Open("/"); !errors.Is(err, ErrMismatch) {
		t.Errorf("Open of an empty table: %v, want %v", err, ErrMismatch)
	}
}

// TestName finds the container's name of a directory of the host.
func TestName(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"app/sub/deep", "app/hidden", "lib"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(root, name) }
	table, err := NewTable([]Point{
		{Target: "/w", Source: at("app"), Bind: true},
		{Target: "/w/hidden"}, // a volume
		{Target: "/deep", Source: at("app/sub/deep"), Bind: true},
		{Target: "/gone", Source: at("none"), Bind: true},
	}, Default{})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for host, want := range map[string]string{
		at("app"): "/w", at("app/sub"): "/w/sub", at("app/sub/deep"): "/deep", at("app/sub/deep/x"): "/deep/x",
		at("app/hidden"): "", at("app2"): "", at("lib"): "", root: "", "/": "", at("none"): "",
	} {
		if got, ok := table.ContainerPath(host); got != want || ok != (want != "") {
			t.Errorf("Name(%s) = %q, %v, want %q", host, got, ok, want)
		}
	}
	alone, err := NewTable(nil, Default{Source: at("app"), Target: "/srv"})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	for host, want := range map[string]bool{at("app"): true, at("app/sub"): false, root: false} {
		if got, ok := alone.ContainerPath(host); ok != want || ok && got != "/srv" {
			t.Errorf("without a mount Name(%s) = %q, %v, want %v", host, got, ok, want)
		}
	}
}
