// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"archive/tar"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestPath(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  []string
		want string
		set  bool
	}{
		{"none", []string{"A=1"}, "", false},
		{"one", []string{"A=1", "PATH=/bin"}, "/bin", true},
		{"the last counts", []string{"PATH=/a", "PATH=/b"}, "/b", true},
		{"empty", []string{"PATH="}, "", true},
		{"removed", []string{"PATH=/a", "PATH"}, DefaultPath, true},
		{"another variable", []string{"PATHS=/a", "MYPATH=/b"}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, set := Path(tt.env); got != tt.want || set != tt.set {
				t.Errorf("Path(%q) = %q, %v, want %q, %v", tt.env, got, set, tt.want, tt.set)
			}
		})
	}
}

func TestEnv(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		env, want  []string
		ruled      bool
	}{
		{"added", DefaultPath, []string{"A=1"}, []string{"A=1", "PATH=/run/hostexec/bin:" + DefaultPath}, false},
		{"rules come last", "/b", []string{"A=1"}, []string{"A=1", "PATH=/run/hostexec/bin:/b:/run/hostexec/rules"}, true},
		{"rules, and no path", "", nil, []string{"PATH=/run/hostexec/bin:/run/hostexec/rules"}, true},
		{"rules there already", Bin + ":/bin:" + Rules, nil, []string{"PATH=/run/hostexec/bin:/bin:/run/hostexec/rules"}, true},
		{"all others are replaced", "/b", []string{"PATH=/a", "A=1", "PATH=/b", "PATH"}, []string{"A=1", "PATH=/run/hostexec/bin:/b"}, false},
		{"empty: no trailing colon, which would be the current directory", "", nil, []string{"PATH=/run/hostexec/bin"}, false},
		{"there already, from a committed container", Bin + ":/bin", nil, []string{"PATH=/run/hostexec/bin:/bin"}, false},
		{"only ours", Bin, nil, []string{"PATH=/run/hostexec/bin"}, false},
		{"a longer name is not ours", Bin + "x:/bin", nil, []string{"PATH=/run/hostexec/bin:/run/hostexec/binx:/bin"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.env)
			if got := Env(tt.env, tt.path, tt.ruled); !slices.Equal(got, tt.want) {
				t.Errorf("Env(%q, %q) = %q, want %q", tt.env, tt.path, got, tt.want)
			}
			if !slices.Equal(tt.env, before) {
				t.Errorf("Env changed what it was given: %q, was %q", tt.env, before)
			}
		})
	}
}

func TestLabels(t *testing.T) {
	rec := &state.Session{ID: "0123456789ab", Version: "1.2", Commands: []state.Command{{Name: "make"}, {Name: "git"}}}
	got := Labels(rec)
	want := map[string]string{LabelSession: "0123456789ab", LabelVersion: "1.2", LabelCommands: "make,git"}
	if !maps.Equal(got, want) {
		t.Errorf("labels = %q, want %q", got, want)
	}
}

func TestMount(t *testing.T) {
	m := ShareMount("/s/share")
	if m.Type != mount.TypeBind || !m.ReadOnly || m.Target != "/run/hostexec" || m.Source != "/s/share" {
		t.Errorf("Mount = %+v, want a read-only bind of /s/share at /run/hostexec", m)
	}
}

func TestTargets(t *testing.T) {
	cfg := &container.Config{Volumes: map[string]struct{}{"/anon/": {}}}
	host := &container.HostConfig{
		Binds:  []string{"/src:/dst", "name:/vol:ro,z", `C:\src:/win`, "/same/:/run/hostexec/"},
		Mounts: []mount.Mount{{Target: "/m//n"}},
		Tmpfs:  map[string]string{"/run/": "size=1m"},
	}
	got := Targets(cfg, host)
	want := []string{"/dst", "/vol", "/win", "/run/hostexec", "/m/n", "/run", "/anon"}
	if !slices.Equal(got, want) {
		t.Errorf("Targets = %q, want %q", got, want)
	}
}

func TestTargetConflict(t *testing.T) {
	for target, want := range map[string]bool{
		"/run/hostexec": true, "/run/hostexec/bin": true, "/run/hostexec/bin/make": true,
		"/run": false, "/": false, "/run/hostexecutor": false, "/w": false,
	} {
		if _, got := Clash([]string{"/x", target}); got != want {
			t.Errorf("Clash(%q) = %v, want %v", target, got, want)
		}
	}
}

func TestCovered(t *testing.T) {
	for target, want := range map[string]bool{
		"/": true, "/usr": true, "/usr/local": true, "/usr/local/bin": true, "/usr/local/bin/make": true,
		"/usr/local/lib": false, "/usr/local/binx": false, "/us": false, "/run/hostexec": false,
	} {
		if got := Covered([]string{"/x", target}, LinkDir); got != want {
			t.Errorf("Covered(%q) = %v, want %v", target, got, want)
		}
	}
}

func TestLinkable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		exists bool
		target string
		want   bool
	}{
		{"nothing there", false, "", true},
		{"ours, of a committed container", true, "/run/hostexec/bin/make", true},
		{"the image's program", true, "", false},
		{"the image's link, as python -> python3", true, "/usr/local/bin/python3", false},
		{"the image's link to the one program it has", true, "/bin/busybox", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Linkable(tt.exists, tt.target); got != tt.want {
				t.Errorf("Linkable(%v, %q) = %v, want %v", tt.exists, tt.target, got, tt.want)
			}
		})
	}
}

// TestLinksAreLeavesOnly checks that there are no directory entries. They would fail to unpack over a link
// in the image.
func TestLinksAreLeavesOnly(t *testing.T) {
	archive, err := Links([]string{"make", "hostexec"}, []string{"gh"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range entries(t, archive) {
		if h.Typeflag != tar.TypeSymlink || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: type %c, owner %d:%d, want a symlink of 0:0", h.Name, h.Typeflag, h.Uid, h.Gid)
		}
		got = append(got, h.Name+" -> "+h.Linkname)
	}
	want := []string{"usr/local/bin/make -> /run/hostexec/bin/make", "usr/local/bin/hostexec -> /run/hostexec/bin/hostexec", "usr/local/bin/gh -> /run/hostexec/rules/gh"}
	if !slices.Equal(got, want) {
		t.Errorf("links = %q, want %q", got, want)
	}
}

// TestArchive checks that a running container gets all files in one archive, with the links after the
// share.
func TestArchive(t *testing.T) {
	archive, err := Archive("amd64", []string{"make"}, nil, "run/hostexec/", "make", "hostexec")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range entries(t, archive) {
		got = append(got, h.Name)
	}
	want := []string{
		"run/hostexec/", "run/hostexec/bin/", "run/hostexec/relay/", "run/hostexec/carrier", "run/hostexec/bin/hostexec",
		"run/hostexec/bin/make", "usr/local/bin/make", "usr/local/bin/hostexec",
	}
	if !slices.Equal(got, want) {
		t.Errorf("entries = %q, want %q", got, want)
	}
}

// entries returns the headers of an archive.
func entries(t *testing.T, archive io.Reader) (all []*tar.Header) {
	t.Helper()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
}

func TestHTTPEnv(t *testing.T) {
	image := []string{"PATH=/bin", "NO_PROXY=of.image"}
	env := []string{"A=b", "HOSTEXEC_URL=http://theirs", "no_proxy=a,b", "CLOISTER_TOKEN=theirs"}
	plain := HTTP{Address: "172.17.0.1:9998"}.Env(image, env)
	if got, want := strings.Join(plain, " "), "A=b no_proxy=a,b CLOISTER_TOKEN=theirs HOSTEXEC_URL=http://172.17.0.1:9998"; got != want {
		t.Errorf("env %q, want %q", got, want)
	}
	compat := HTTP{Address: "172.17.0.1:9999", Guardian: "guardian", Token: "secret"}.Env(image, env)
	if got, want := strings.Join(compat, " "), "A=b CLOISTER_GUARDIAN_HOST=guardian CLOISTER_REQUEST_PORT=9999 CLOISTER_TOKEN=secret "+
		"HOSTEXEC_URL=http://172.17.0.1:9999 NO_PROXY=of.image,guardian,172.17.0.1 no_proxy=a,b,guardian,172.17.0.1"; got != want {
		t.Errorf("env %q, want %q", got, want)
	}
	for _, have := range []string{"NO_PROXY=", "NO_PROXY"} { // set to nothing, and removed
		got := HTTP{Address: "1.2.3.4:5", Guardian: "g"}.Env(image, []string{have})
		if !slices.Contains(got, "NO_PROXY=g,1.2.3.4") {
			t.Errorf("%s: %q", have, got)
		}
	}
}
