// SPDX-License-Identifier: Apache-2.0

package hostcode

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// Links returns the links in the directories of path, a PATH, whose targets the container can
// write. The directories stay in PATH, because they contain other programs.
func Links(path string, access ContainerAccess) (found []Finding) {
	if len(access.WritableSources()) == 0 {
		return nil
	}
	l := lookup{access: access, dirs: map[string]bool{}}
	seen := map[string]bool{}
	for dir := range osenv.Dirs(path) {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		entries, _ := os.ReadDir(dir) // PATH may name missing directories
		for _, e := range entries {
			link := filepath.Join(dir, e.Name())
			if e.Type()&os.ModeSymlink != 0 && l.targetWritable(link) {
				found = append(found, Finding{"PATH", link, "a link to what the container can write", "a command that calls " + e.Name() + " runs it"})
			}
		}
	}
	return found
}

// maxLinks is the maximum number of links that the kernel follows (path_resolution(7)).
const maxLinks = 40

// LinkChain returns path and its successive link targets. The last one is missing or is not a link, unless there are
// more than maxLinks links, or a directory cannot be resolved.
func LinkChain(path string) (all []string) {
	for range maxLinks + 1 { // the path, and the target of each link
		all = append(all, path)
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			// A directory in the link's path may be a link too; then .. is the parent of its
			// target.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				break
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return all
}

// lookup caches results by directory: a PATH contains thousands of links to few directories.
type lookup struct {
	access ContainerAccess
	dirs   map[string]bool
}

// targetWritable reports whether the container can write a target of the link, directly or through other
// links.
func (l *lookup) targetWritable(link string) bool {
	return slices.ContainsFunc(LinkChain(link)[1:], func(to string) bool {
		dir := filepath.Dir(to)
		w, known := l.dirs[dir]
		if !known {
			w = l.access.ControlsFilesIn(dir)
			l.dirs[dir] = w
		}
		return w
	})
}
