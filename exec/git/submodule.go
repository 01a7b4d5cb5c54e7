// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// budget is the number of submodules that may still be checked.
type budget struct{ left int }

// submodules checks the repositories that the command may enter from the work tree d. Git finds a
// submodule by its path. If the container can write the work tree, it can redirect the path at any
// time. In this case no submodule is permitted.
func (c *Check) submodules(ctx context.Context, line commandLine, cfg *config, d *dir.Dir, cwd string, b *budget) error {
	reach := line.reach(cfg)
	if reach == own {
		return nil
	}
	fixed := !c.Host && c.Mounts.ReadOnly(d, cwd, ".")
	if reach == anywhere && !fixed {
		return &Problem{
			Reason: fmt.Sprintf("git %s may run in repositories below %s, which the container can write", quoted(line.verb), cwd),
			Fix:    "mount the directory read-only, or have the rule insert --ignore-submodules=all or --no-recurse-submodules where git " + quoted(line.verb) + " has it, with prepend: [-c, diff.submodule=short, -c, submodule.recurse=false, -c, status.submoduleSummary=false]",
		}
	}
	found := &gitlinks{max: b.left}
	err := c.Run(ctx, d, line.with("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "ls-files", "--stage", "-z"), found)
	switch {
	case len(found.paths) > 0 && !fixed:
		return &Problem{
			Reason: fmt.Sprintf("git %s descends into the submodule %s, which the container can write", quoted(line.verb), quoted(found.paths[0])),
			Fix:    "have the rule insert --ignore-submodules=all where git " + quoted(line.verb) + " has it",
		}
	case found.over:
		return &Problem{Reason: fmt.Sprintf("%s has more submodules than the %d that are looked at", cwd, maxSubmodules)}
	case err != nil:
		return &Problem{Reason: fmt.Sprintf("git cannot list the files of %s: %v", cwd, err)}
	}
	b.left -= len(found.paths)
	for _, p := range found.paths {
		if err := c.submodule(ctx, line, path.Join(cwd, p), b); err != nil {
			return err
		}
	}
	return nil
}

// submodule checks the repository in the container's directory cwd, and the repositories below it.
// The container cannot write there.
func (c *Check) submodule(ctx context.Context, line commandLine, cwd string, b *budget) error {
	d, err := c.Mounts.Open(cwd)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return &Problem{Reason: "look at a submodule: " + err.Error()}
	}
	defer d.Close()
	if _, err := os.Lstat(filepath.Join(d.Path(), ".git")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	cfg, err := c.repository(ctx, line, d, cwd)
	if err != nil {
		return err
	}
	return c.submodules(ctx, line, cfg, d, cwd, b)
}

// gitlinks parses the output of git ls-files --stage -z, and stores the paths of submodules.
type gitlinks struct {
	paths []string
	max   int
	over  bool
	part  []byte // the start of an incomplete record
}

var errSubmodules = errors.New("too many submodules")

const gitlinkMode = "160000 "

func (g *gitlinks) Write(p []byte) (int, error) {
	all := append(g.part, p...)
	for {
		record, rest, whole := bytes.Cut(all, []byte{0})
		if !whole {
			break
		}
		all = rest
		if _, name, ok := bytes.Cut(record, []byte{'\t'}); ok && bytes.HasPrefix(record, []byte(gitlinkMode)) {
			if len(g.paths) == g.max {
				g.over = true
				return 0, errSubmodules
			}
			g.paths = append(g.paths, string(name))
		}
	}
	if len(all) > maxConfig {
		return 0, errSubmodules
	}
	g.part = append(g.part[:0:0], all...)
	return len(p), nil
}
