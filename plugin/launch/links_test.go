// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// fakeStat returns a statFunc of a container that has only these files.
func fakeStat(files map[string]inject.ImageFile) statFunc {
	return func(paths []string) (map[string]inject.ImageFile, error) {
		found := make(map[string]inject.ImageFile)
		for _, p := range paths {
			found[p] = files[p]
		}
		return found, nil
	}
}

var errAway = errors.New("the engine is away")

func failingStat([]string) (map[string]inject.ImageFile, error) { return nil, errAway }

func TestLinkable(t *testing.T) {
	file, ours := inject.ImageFile{Exists: true}, inject.ImageFile{Exists: true, Link: "/run/hostexec/bin/git"}
	linked := map[string]inject.ImageFile{"/usr/local": {Exists: true, Link: "/opt"}}
	names := []string{"git", "npm", "make"}
	for _, tt := range []struct {
		name      string
		files     map[string]inject.ImageFile
		mounts    bool
		free, own []string
		err       string
	}{
		{"no files", nil, true, names, nil, ""},
		{"a program of the image, and a link of a committed container",
			map[string]inject.ImageFile{"/usr/local/bin/npm": file, "/usr/local/bin/git": ours}, true,
			[]string{"git", "make"}, []string{"npm"}, ""},
		{"a linked directory without mounts", linked, false, names, nil, ""},
		{"a linked directory with mounts", linked, true, nil, nil,
			"/usr/local is a symbolic link here, and may lead into a mount"},
	} {
		free, own, err := linkable(fakeStat(tt.files), names, tt.mounts, " here")
		if !slices.Equal(free, tt.free) || !slices.Equal(own, tt.own) || (err == nil) != (tt.err == "") {
			t.Errorf("%s: %q, %q, %v", tt.name, free, own, err)
		}
		if err != nil && err.Error() != tt.err {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.err)
		}
	}
	if _, _, err := linkable(failingStat, names, true, ""); err != errAway {
		t.Errorf("linkable = %v, want %v", err, errAway)
	}
}

func TestNamesWithoutProgram(t *testing.T) {
	c := container.InspectResponse{Config: &container.Config{Env: []string{"PATH=/opt/x:/run/hostexec/rules"}}}
	files := map[string]inject.ImageFile{
		"/opt/x/gh": {Exists: true}, "/usr/bin/git": {Exists: true, Link: "git2"},
		"/usr/local/bin/npm": {Exists: true, Link: "/run/hostexec/rules/npm"}, "/run/hostexec/rules/make": {Exists: true},
	}
	got, err := namesWithoutProgram(fakeStat(files), c, []string{"gh", "git", "npm", "make", "kubectl"})
	if want := "npm make kubectl"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("namesWithoutProgram = %q, %v, want %s", got, err, want)
	}
	if got, err := namesWithoutProgram(failingStat, c, []string{"gh"}); err != errAway || got != nil {
		t.Errorf("namesWithoutProgram = %q, %v, want %v", got, err, errAway)
	}
}

// An image such as node has programs of its own where login shells look: no link takes their place.
func TestLinkWarning(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"all are linked", nil, ""},
		{"the image has one", ownPrograms{"npm"}, "login shells run the container's own npm, in /usr/local/bin; to run this host's, call /run/hostexec/bin/NAME"},
		{"none can be linked", errors.New("it is read-only"), "login shells find at most the container's own git, npm (it is read-only): call /run/hostexec/bin/hostexec NAME"},
	} {
		if got := linkWarning(tt.err, []string{"git", "npm"}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
