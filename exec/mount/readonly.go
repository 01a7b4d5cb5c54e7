// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// ReadOnly reports whether name is a directory in d, the container's cwd, that the container can neither write nor
// replace. It must be mounted read-only there. No other mount, in this container or in one of another session, may make
// a part of it writable. Paths do not show that: two mounts may lead to one directory.
func (t *Table) ReadOnly(d *dir.Dir, cwd, name string) bool {
	p := path.Join(cwd, name)
	if m := t.lookup(p); m == nil || !m.bind || !m.readOnly {
		return false
	}
	inner, err := t.Open(p)
	if err != nil {
		return false
	}
	defer inner.Close()
	return d.Has(name, inner) && !t.writablyMounted(inner.Path()) && !t.ownWritable().within(inner.Path()) && !t.othersWritable().overlaps(inner.Path())
}

// within reports whether this host has a mount below the directory p that the container can write.
func (w *writableSet) within(p string) bool {
	return w.err != nil || slices.ContainsFunc(w.below, func(m Info) bool {
		_, below := names.CutDir(m.At, p)
		return below
	})
}

// writablyMounted reports whether a writable mount shows the host's directory p, or a part of it.
func (t *Table) writablyMounted(p string) bool {
	for i := range t.mounts {
		m := &t.mounts[i]
		if m.readOnly {
			continue
		}
		if _, inside := belowAlias(m.real, p); inside {
			return true
		}
		rest, ok := belowAlias(p, m.real)
		if !ok {
			continue
		}
		// Another mount may cover it there: this loop also checks that mount.
		if t.lookup(path.Join(m.target, rest)) == m {
			return true
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, m := range t.sourcesOnly {
		_, inside := belowAlias(m.real, p)
		_, outside := belowAlias(p, m.real)
		if !m.readOnly && (inside || outside) {
			return true
		}
	}
	return false
}

// maxLinks is the number of links that the kernel follows (path_resolution(7)).
const maxLinks = 40

// Links returns the real paths of the symbolic links that the absolute path p leads through. The last result is the
// real path of its target, as far as that exists.
func Links(p string) (links []string) {
	resolved, rest := "/", strings.Split(p, "/")
	for len(rest) > 0 && len(links) <= maxLinks {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			resolved = path.Dir(resolved)
			continue
		}
		at := path.Join(resolved, name)
		to, err := os.Readlink(at)
		if err != nil || name == "" || name == "." {
			resolved = at
			continue
		}
		links = append(links, at)
		if path.IsAbs(to) {
			resolved = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return append(links, path.Join(append([]string{resolved}, rest...)...))
}
