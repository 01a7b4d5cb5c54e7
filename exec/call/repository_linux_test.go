// SPDX-License-Identifier: Apache-2.0

package call

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// TestWritableGitDir checks the reasons that a caller gets when its .git is not the host's alone.
func TestWritableGitDir(t *testing.T) {
	for want, make := range map[string]func(at string) error{
		"there is no /w/.git":          func(string) error { return nil },
		"the container can write /w/.": func(at string) error { return os.Mkdir(at, 0o755) },
		"as in a worktree":             func(at string) error { return os.WriteFile(at, []byte("gitdir: ../x\n"), 0o644) },
		"leads to a repository":        func(at string) error { return os.Symlink("../x", at) },
	} {
		work := t.TempDir()
		if err := make(filepath.Join(work, ".git")); err != nil {
			t.Fatal(err)
		}
		d, err := dir.Open(work)
		if err != nil {
			t.Fatal(err)
		}
		p := repositoryProblem(d, "/w", nil)
		d.Close()
		if !strings.Contains(p.Reason, want) || p.Fix == "" {
			t.Errorf("%q, %q, want %q", p.Reason, p.Fix, want)
		}
	}
}
