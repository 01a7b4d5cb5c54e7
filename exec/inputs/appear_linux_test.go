// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAppears checks that files which decide what runs, but do not exist yet, change the digest when they appear, or leave
// no inputs.
//
// Attack 266.
func TestAppears(t *testing.T) {
	for _, tt := range []struct {
		args    string
		files   []string // of a call in the directory w/a
		appears string
	}{
		{"make", []string{"Makefile", "all:\n"}, "Makefile.sh"}, // make would rebuild the makefile from it
		{"make", []string{"Makefile", "all:\n"}, "Makefile.c"},
		{"make", []string{"Makefile", "all:\n"}, "Makefile.w"},
		{"make", []string{"Makefile", "all:\n"}, "Makefile.sh,v"},
		{"make", []string{"Makefile", "all:\n"}, "s.Makefile"},
		{"make", []string{"Makefile", "all:\n"}, "RCS/Makefile,v"},
		{"make", []string{"Makefile", "all:\n"}, "SCCS/s.Makefile"},
		{"make", []string{"Makefile", "-include x/a.mk\n"}, "x/a.mk.sh"},
		{"make -f b", []string{"b", "all:\n"}, "b.sh"},
		{"npm test", []string{"package.json", "{}"}, "../package.json"}, // the package may be part of a workspace
		{"npm test", []string{"package.json", "{}"}, "../.npmrc"},
		{"npm ci", []string{"package.json", "{}"}, "binding.gyp"},
		{"yarn test", []string{"package.json", "{}"}, "../.yarnrc.yml"},
		{"yarn test", []string{"package.json", "{}"}, ".pnp.cjs"},
		{"yarn test", []string{"package.json", "{}"}, ".env.yarn"},
		{"pnpm test", []string{"package.json", "{}"}, "../pnpm-workspace.yaml"},
		{"bun run test", []string{"package.json", "{}"}, ".env.local"},
	} {
		root := t.TempDir()
		at := filepath.Join(root, "w/a")
		for i := 0; i < len(tt.files); i += 2 {
			put(t, filepath.Join(at, tt.files[i]), tt.files[i+1])
		}
		c := Command{Args: strings.Fields(tt.args), Confined: true, Root: filepath.Join(root, "w")}
		before, err := find(t, at, c)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		put(t, filepath.Join(root, tt.appears), "") // above the root: the container cannot reach it
		put(t, filepath.Join(at, tt.appears), "evil\n")
		if now, err := find(t, at, c); err == nil && now.Digest() == before.Digest() {
			t.Errorf("%s: the digest is as before %s", tt.args, tt.appears)
		}
	}
}
