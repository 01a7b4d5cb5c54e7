// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"os"
	"path/filepath"
	"slices"
)

// Links returns the programs in the directories of path, a PATH, that are links to what the
// container can write. Such a directory stays: it has other programs.
func Links(path string, owner Owner) (found []Finding) {
	if len(owner.Sources()) == 0 {
		return nil
	}
	l := lookup{owner: owner, dirs: map[string]bool{}}
	seen := map[string]bool{}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || seen[dir] {
			continue
		}
		seen[dir] = true
		entries, _ := os.ReadDir(dir) // PATH may name what is not there
		for _, e := range entries {
			link := filepath.Join(dir, e.Name())
			if e.Type()&os.ModeSymlink != 0 && l.leads(link) {
				found = append(found, Finding{"PATH", link, "a link to what the container can write", "a command that calls " + e.Name() + " runs it"})
			}
		}
	}
	return found
}

// maxLinks is how many links the kernel follows (path_resolution(7)).
const maxLinks = 40

// Chain returns path and all that it links to, one after the other. What is missing or no link
// is the last one.
func Chain(path string) (all []string) {
	for range maxLinks {
		all = append(all, path)
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			// A directory above the link may be a link, too: .. is then the parent of its target.
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

// lookup remembers directories: a PATH has thousands of links to few of them.
type lookup struct {
	owner Owner
	dirs  map[string]bool
}

// leads reports whether a link, or one that it leads to, leads to what the container can write.
func (l *lookup) leads(link string) bool {
	return slices.ContainsFunc(Chain(link)[1:], func(to string) bool {
		dir := filepath.Dir(to)
		w, known := l.dirs[dir]
		if !known {
			w = l.owner.Supplies(dir)
			l.dirs[dir] = w
		}
		return w
	})
}
