// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBranch(t *testing.T) {
	commit := strings.Repeat("0123456789", 4)
	for _, tt := range []struct {
		name  string
		files map[string]string // @x is a symbolic link to x
		in    string
		want  string
	}{
		{"no git", nil, "", ""},
		{"a branch", map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, "", "main"},
		{"a branch with slashes, from below", map[string]string{".git/HEAD": "ref: refs/heads/fix/it\n"}, "a/b", "fix/it"},
		{"a commit", map[string]string{".git/HEAD": commit + "\n"}, "", "HEAD"},
		{"a worktree", map[string]string{"w/.git": "gitdir: ../.git/worktrees/w\n", ".git/worktrees/w/HEAD": "ref: refs/heads/side\n"}, "w", "side"},
		{"a worktree that is none", map[string]string{"w/.git": "gitdir: ../other\n", "other/HEAD": "ref: refs/heads/no\n"}, "w", ""},
		{"too long", map[string]string{".git/HEAD": "ref: refs/heads/" + strings.Repeat("x", 5000)}, "", ""},
		{"not a HEAD", map[string]string{".git/HEAD": "a secret"}, "", ""},
		{"a link out of it", map[string]string{".git/HEAD": "@../secret", "secret": "ref: refs/heads/no\n"}, "", ""},
		{"escapes are the name's", map[string]string{".git/HEAD": "ref: refs/heads/\x1b[2J"}, "", "\x1b[2J"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.files {
				writeFileOrLink(t, filepath.Join(dir, name), text)
			}
			in := filepath.Join(dir, tt.in)
			if err := os.MkdirAll(in, 0o700); err != nil {
				t.Fatal(err)
			}
			if got := branch(in); got != tt.want {
				t.Errorf("branch = %q, want %q", got, tt.want)
			}
		})
	}
}

func writeFileOrLink(t *testing.T, file, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if to, ok := strings.CutPrefix(text, "@"); ok && err == nil {
		err = os.Symlink(to, file)
	} else if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
