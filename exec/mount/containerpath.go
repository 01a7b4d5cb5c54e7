// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"path"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// ContainerPath is the inverse of Open: it returns the container's path of the host's directory host, which is
// absolute, clean and without links. It reports false if the container does not have the directory, or another mount
// covers it. Check the result with Open.
func (t *Table) ContainerPath(host string) (cwd string, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.fallback != nil {
		return t.fallback.target, !t.closed && host == t.fallback.real
	}
	best := -1
	for i := range t.mounts {
		m := &t.mounts[i]
		rest, below := names.CutDir(host, m.real)
		if !below || !m.isHostDir() || len(m.real) <= best {
			continue
		}
		at := path.Join(m.target, rest)
		if over, _ := t.find(at); over == m {
			cwd, ok, best = at, true, len(m.real)
		}
	}
	return cwd, ok
}
