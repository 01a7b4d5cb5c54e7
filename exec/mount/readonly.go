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
// replace: it is mounted read-only at this place, and no other mount shows a part of it writable, in this container or
// in one of another session. Two mounts may lead to one directory, which their paths do not show.
func (t *Table) ReadOnly(d *dir.Dir, cwd, name string) bool {
	p := path.Join(cwd, name)
	if m := t.at(p); m == nil || !m.bind || !m.readOnly {
		return false
	}
	inner, err := t.Open(p)
	if err != nil {
		return false
	}
	defer inner.Close()
	return d.Has(name, inner) && !t.shows(inner.Path()) && !t.known().within(inner.Path()) && !t.knownOthers().overlaps(inner.Path())
}

// within reports whether this host has a mount below the directory p that the container can write.
func (w *writes) within(p string) bool {
	return w.err != nil || slices.ContainsFunc(w.below, func(m Info) bool {
		_, below := names.CutDir(m.At, p)
		return below
	})
}

// shows reports whether a writable mount shows the host's directory p, or a part of it.
func (t *Table) shows(p string) bool {
	for i := range t.mounts {
		m := &t.mounts[i]
		if m.readOnly {
			continue
		}
		if _, inside := below(m.real, p); inside {
			return true
		}
		rest, ok := below(p, m.real)
		if !ok {
			continue
		}
		// Another mount may cover it there, which this loop also looks at.
		if t.at(path.Join(m.target, rest)) == m {
			return true
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, m := range t.behind {
		_, inside := below(m.real, p)
		_, outside := below(p, m.real)
		if !m.readOnly && (inside || outside) {
			return true
		}
	}
	return false
}

// maxLinks is the number of links that the kernel follows (path_resolution(7)).
const maxLinks = 40

// Links returns the real paths of the symbolic links on the way of the absolute path p, and then the real path of its
// target, as far as it exists.
func Links(p string) (links []string) {
	done, todo := "/", strings.Split(p, "/")
	for len(todo) > 0 && len(links) <= maxLinks {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			done = path.Dir(done)
			continue
		}
		at := path.Join(done, name)
		to, err := os.Readlink(at)
		if err != nil || name == "" || name == "." {
			done = at
			continue
		}
		links = append(links, at)
		if path.IsAbs(to) {
			done = "/"
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return append(links, path.Join(append([]string{done}, todo...)...))
}
