// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// TestReadFor names what to add for programs of the home, and nothing for those that can be read.
func TestReadFor(t *testing.T) {
	home := t.TempDir()
	for _, program := range []string{".cargo/bin/rustup", ".nvm/versions/node/v20/bin/node", "go/bin/dlv", "tools/x/bin/x", "alone", "open/x", "data/opt/x"} {
		at := filepath.Join(home, program)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{".cargo/bin/cargo": "rustup", ".local": "tools", "lnk": "open/x", "linked": "data/opt"} {
		if err := os.Symlink(to, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	paths := resolved([]sandbox.Path{{Name: "/usr"}, {Name: filepath.Join(home, "open")}, {Name: filepath.Join(home, "linked")}})
	for program, want := range map[string][]string{
		".cargo/bin/cargo": {"~/.cargo/bin", "~/.rustup"}, ".nvm/versions/node/v20/bin/node": {"~/.nvm"}, "go/bin/dlv": {"~/go/bin"},
		"tools/x/bin/x": {"~/tools/x/bin"}, "alone": {"~/alone"}, "open/x": nil, "lnk": nil, "linked/x": nil, "data/opt/x": nil,
	} {
		if got := readFor(filepath.Join(home, program), home, paths); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
	if got := readFor("/srv/tools/x", home, paths); !slices.Equal(got, []string{"/srv/tools"}) {
		t.Errorf("outside of the home: %q", got)
	}
	path := filepath.Join(home, ".cargo/bin") + ":/usr/bin:" + filepath.Join(home, "linked") + ":/srv"
	if got, want := readablePath(path, paths), "/usr/bin:"+filepath.Join(home, "linked"); got != want {
		t.Errorf("PATH %q, want %q", got, want)
	}
}
