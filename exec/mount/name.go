// SPDX-License-Identifier: Apache-2.0

package mount

import "path"

// Name returns what the container calls the host's directory host, which is absolute, clean
// and without links: the inverse of Open. It reports false for what the container does not
// have, or has something else over. It is a name, and Open has the last word on it.
func (t *Table) Name(host string) (cwd string, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.fallback != nil {
		return t.fallback.target, !t.closed && host == t.fallback.real
	}
	best := -1
	for i := range t.mounts {
		m := &t.mounts[i]
		rest, below := cutPrefix(host, m.real)
		if !below || !m.shared() || len(m.real) <= best {
			continue
		}
		at := path.Join(m.target, rest)
		if over, _ := t.find(at); over == m {
			cwd, ok, best = at, true, len(m.real)
		}
	}
	return cwd, ok
}
