// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// What the container can write. Two mounts may lead to one directory, and a link of the
// host's may lead through one: neither shows in the path by which something is called.

// ReadOnly reports whether name is a directory in d, which the container calls cwd, that the
// container can neither write nor replace: it is mounted read-only, and from there, and no
// other mount shows any of it to be written.
func (t *Table) ReadOnly(d *dir.Dir, cwd, name string) bool {
	p := path.Join(cwd, name)
	if m, _ := t.at(p); m == nil || !m.bind || !m.readOnly {
		return false
	}
	inner, err := t.Open(p)
	if err != nil {
		return false
	}
	defer inner.Close()
	return d.Has(name, inner) && !t.shows(inner.Path()) && !t.known().within(inner.Path())
}

// within reports whether this host has mounted something below the directory p that the
// container can write there.
func (w *writes) within(p string) bool {
	return w.err != nil || slices.ContainsFunc(w.below, func(m Info) bool {
		_, below := cutPrefix(m.At, p)
		return below
	})
}

// shows reports whether a mount shows something of the host's directory p that may be
// written there, all of it or a part.
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
		// Another mount may lie over it there. It is looked at by itself.
		if over, _ := t.at(path.Join(m.target, rest)); over == m {
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

// maxLinks is how many links the kernel follows (path_resolution(7)).
const maxLinks = 40

// Links returns the symbolic links over which the absolute path p leads, each by its real
// path, and then the real path of what p names, as far as it exists.
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
