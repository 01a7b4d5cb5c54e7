// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// branch returns the git branch of the repository that contains from, HEAD without a branch, and "" outside of git. It
// does not run git, which runs programs that .git/config names: a container may have written that file. So the
// container can only choose the name that is shown.
func branch(from string) string {
	for {
		if text := readHead(filepath.Join(from, ".git")); text != "" {
			return parseHead(text)
		}
		parent := filepath.Dir(from)
		if parent == from {
			return ""
		}
		from = parent
	}
}

// parseHead returns the branch in the text of HEAD, which is a reference or a commit.
func parseHead(text string) string {
	text = strings.TrimSuffix(text, "\n")
	name, ok := strings.CutPrefix(text, "ref: refs/heads/")
	switch {
	case len(text) > maxHead:
		return ""
	case ok:
		return name
	case commit.Matches(text) && (len(text) == commit.Min || len(text) == commit.Max):
		return "HEAD" // as git rev-parse --abbrev-ref prints
	}
	return ""
}

// commit is the form of a SHA-1 or SHA-256.
var commit = names.Form{Chars: "0-9a-f", Min: 40, Max: 64}

// readHead returns the text of HEAD for a .git. For a linked worktree, .git is a file that names the directory.
func readHead(git string) string {
	if text := readStart(git, "HEAD"); text != "" {
		return text
	}
	to, ok := strings.CutPrefix(readStart(filepath.Dir(git), filepath.Base(git)), "gitdir: ")
	if !ok {
		return ""
	}
	if to = strings.TrimSuffix(to, "\n"); !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(git), to)
	}
	// Only paths that git creates are accepted: .git/worktrees/NAME and .git/modules/NAME.
	if above := filepath.Dir(filepath.Dir(filepath.Clean(to))); filepath.Base(above) != ".git" {
		return ""
	}
	return readStart(to, "HEAD")
}

// maxHead is the maximum size of HEAD. The name of a branch is shorter, because it is a path.
const maxHead = 1 << 10

// readStart returns the first bytes of a regular file, or "".
func readStart(directory, name string) string {
	f, err := dir.OpenPlain(filepath.Join(directory, name))
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxHead+1))
	if err != nil {
		return ""
	}
	return string(b)
}
