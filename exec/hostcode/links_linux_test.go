// SPDX-License-Identifier: Apache-2.0

package hostcode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/mount"
)

// newTree creates a tree with the directories and links. It returns the access of a container that
// can write the directory work, and the path of the tree.
func newTree(t *testing.T, dirs []string, links map[string]string) (*mount.Table, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append(dirs, "work") {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	access, err := mount.NewTable([]mount.Point{{Target: "/w", Source: filepath.Join(base, "work"), Bind: true}}, mount.Default{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { access.Close() })
	return access, base
}

// TestLinks checks a directory of PATH with links that lead into the container's mount, directly or
// through links.
func TestLinks(t *testing.T) {
	access, base := newTree(t, []string{"bin", "alternatives", "usr", "work/out"}, map[string]string{
		"bin/direct": "../work/python3", "bin/chain": "../alternatives/chain", "alternatives/chain": "../work/none", "bin/beside": "direct",
		"bin/through": "../work/out/link", "work/out/link": "../../usr/x", "bin/ours": "../usr/x", "bin/loop": "loop", "dirs": "work", "bin/dirs": "../dirs/tool",
	})
	var got []string
	for _, f := range Links("relative:"+filepath.Join(base, "bin")+":"+filepath.Join(base, "bin")+":/not/there", access) {
		got = append(got, filepath.Base(f.Value))
	}
	slices.Sort(got)
	if want := []string{"beside", "chain", "direct", "dirs", "through"}; !slices.Equal(got, want) {
		t.Errorf("Links = %q, want %q", got, want)
	}
}

// TestLongestLinkChain checks that a chain includes the target of the last link that the kernel follows.
func TestLongestLinkChain(t *testing.T) {
	links := map[string]string{}
	for i := range maxLinks {
		links[fmt.Sprint(i)] = fmt.Sprint(i + 1)
	}
	_, base := newTree(t, nil, links)
	target := filepath.Join(base, fmt.Sprint(maxLinks))
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(base, "0")
	if _, err := os.ReadFile(first); err != nil {
		t.Fatal("the kernel follows fewer links: ", err)
	}
	if chain := LinkChain(first); chain[len(chain)-1] != target {
		t.Errorf("the chain has %d paths and ends at %s", len(chain), chain[len(chain)-1])
	}
}

// TestLinksBelowLink checks a directory of PATH that is a link. A .. in a link there is relative to
// the real directory. Resolving it by name gave another path, and the link was not reported.
func TestLinksBelowLink(t *testing.T) {
	access, base := newTree(t, []string{"deep/nested"}, map[string]string{"short": "deep/nested", "deep/nested/python3": "../../work/python3"})
	want := filepath.Join(base, "short", "python3")
	if found := Links(filepath.Join(base, "short"), access); len(found) != 1 || found[0].Value != want {
		t.Errorf("Links = %v, want %s", found, want)
	}
}

// TestSettings checks mounts of parts of HOME, and of all of it.
func TestSettings(t *testing.T) {
	access, base := newTree(t, []string{"home/.config", "work/home"}, map[string]string{"home/.ssh": "../work/ssh", "home/.bashrc": ".config/bashrc", "link": "home"})
	access.AddWritable([]mount.Point{{Source: filepath.Join(base, "home/.config/gh")}})
	for home, want := range map[string][]string{"home": {".ssh", ".config"}, "link": {".ssh", ".config"}, "work/home": nil, "none": nil} {
		var got []string
		for _, f := range WritableSettings(filepath.Join(base, home), access) {
			got = append(got, filepath.Base(f.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Settings(%s) = %q, want %q", home, got, want)
		}
	}
	if _, found := Environ([]string{"HOME=" + filepath.Join(base, "work/home")}, access); len(found) != 1 {
		t.Errorf("HOME in the mount: %v", found)
	}
}
