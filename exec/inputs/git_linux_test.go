// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository makes a repository with two files and two gitlinks.
func repository(t *testing.T) (at string, git func(args ...string) string) {
	t.Helper()
	at = tree(t, "a/file", "x", "z", "y")
	git = func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "init.defaultBranch=main", "-c", "core.autocrlf=false"}, args...)...)
		c.Dir, c.Env = at, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", "-A")
	link(git, "lib/one", "1")
	link(git, "lib/two\x1b", "2")
	return at, git
}

// link adds a gitlink to the index.
func link(git func(args ...string) string, path, digit string) {
	git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat(digit, 40)+","+path)
}

// TestGitlinks compares the list with git's own, for each version of the index, and checks that a change changes the digest.
func TestGitlinks(t *testing.T) {
	at, git := repository(t)
	c := Command{Args: []string{"git", "--no-pager", "-c", "core.hooksPath=/dev/null", "submodule", "update"}, Confined: true}
	want := strings.Repeat("1", 40) + " 0 lib/one\n" + strings.Repeat("2", 40) + ` 0 "lib/two\x1b"` + "\n"
	for _, version := range []string{"2", "3", "4"} {
		git("update-index", "--force-write-index", "--index-version", version)
		if version == "3" {
			git("update-index", "--skip-worktree", "a/file") // which needs extended flags
		}
		s, err := find(t, at, c)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(s.file(gitlinksName).Content); got != want {
			t.Errorf("version %s: %q, want %q", version, got, want)
		}
	}
	before, err := find(t, at, c)
	if err != nil {
		t.Fatal(err)
	}
	put(t, at+"/z", "another content")
	git("add", "-A", "z")
	if now, err := find(t, at, c); err != nil || now.Digest() != before.Digest() {
		t.Errorf("after another file has changed: %v, or another digest", err)
	}
	link(git, "lib/one", "3")
	now, err := find(t, at, c)
	if err != nil || !strings.Contains(Diff(before, now), "+"+strings.Repeat("3", 40)+" 0 lib/one\n") {
		t.Errorf("after a gitlink has changed: %v, %s", err, Diff(before, now))
	}
	put(t, at+"/.gitmodules", "[submodule \"x\"]\n\tpath = lib/one\n\turl = /evil\n")
	again, err := find(t, at, c)
	if err != nil || !strings.Contains(Diff(now, again), "--- approved: no .gitmodules\n") {
		t.Errorf("with .gitmodules: %v, %s", err, Diff(now, again))
	}
}

// TestGitlinksRefused checks that a repository whose gitlinks cannot be listed, or do not decide what git enters, has no
// inputs.
//
// Attack 273.
func TestGitlinksRefused(t *testing.T) {
	for _, tt := range []struct {
		name, args, env, want string
		change                func(at string, git func(args ...string) string) error
	}{
		{name: "option -C", args: "git -C lib status", want: "the option -C"},
		{name: "option -c", args: "git -c Include.path=x status", want: "include"},
		{name: "no verb", args: "git --no-pager", want: "no verb"},
		{name: "variable", args: "git status", env: "GIT_INDEX_FILE=/x", want: "GIT_INDEX_FILE"},
		{name: "no repository", want: "no directory .git", change: func(at string, _ func(...string) string) error { return os.RemoveAll(at + "/.git") }},
		{name: "a file", want: "no directory .git", change: func(at string, _ func(...string) string) error {
			return os.Rename(at+"/.git/config", at+"/c") // of a worktree or a submodule
		}},
		{name: "a link", want: "no directory .git", change: func(at string, _ func(...string) string) error {
			if err := os.Rename(at+"/.git", at+"/repo"); err != nil {
				return err
			}
			return os.Symlink("repo", at+"/.git")
		}},
		{name: "an index that is a link", want: "link", change: func(at string, _ func(...string) string) error {
			if err := os.Rename(at+"/.git/index", at+"/index"); err != nil {
				return err
			}
			return os.Symlink("../index", at+"/.git/index")
		}},
		{name: "a split index", want: "split or sparse", change: func(_ string, git func(...string) string) error { git("update-index", "--split-index"); return nil }},
		{name: "another repository", want: "commondir", change: func(at string, _ func(...string) string) error {
			return os.WriteFile(at+"/.git/commondir", []byte("/x"), 0o600)
		}},
		{name: "more configuration", want: "include", change: func(at string, git func(...string) string) error { git("config", "include.path", "/x"); return nil }},
		{name: "no index", want: "not an index", change: func(at string, _ func(...string) string) error {
			return os.WriteFile(at+"/.git/index", []byte("DIRC"), 0o600)
		}},
		{name: "a long index", want: "4 MiB", change: func(at string, _ func(...string) string) error { return os.Truncate(at+"/.git/index", maxBytes+1) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, git := repository(t)
			if tt.change != nil {
				if err := tt.change(at, git); err != nil {
					t.Fatal(err)
				}
			}
			if tt.name == "a file" {
				if err := os.RemoveAll(filepath.Join(at, ".git")); err != nil {
					t.Fatal(err)
				}
				put(t, at+"/.git", "gitdir: /x\n")
			}
			args := tt.args
			if args == "" {
				args = "git status"
			}
			if _, err := find(t, at, Command{Args: strings.Fields(args), Env: []string{tt.env}, Confined: true}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	at, _ := repository(t)
	if _, err := find(t, at, Command{Args: []string{"git", "status"}}); err == nil || !strings.Contains(err.Error(), "hooks, commits") {
		t.Errorf("git on the host: %v, want an error that names hooks", err)
	}
}

func FuzzGitlinks(f *testing.F) {
	entry := strings.Repeat("\x00", 24) + "\x00\x00\xe0\x00" + strings.Repeat("\x01", 32) + "\x00\x03lib" + strings.Repeat("\x00", 7)
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + entry + strings.Repeat("\x00", 20)))
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x02" + entry + strings.Repeat("\xff", 80)))
	f.Fuzz(func(t *testing.T, index []byte) {
		list, err := parseGitlinks(index)
		if err == nil && len(list) > 5*len(index) {
			t.Errorf("%d bytes of %d", len(list), len(index))
		}
	})
}
