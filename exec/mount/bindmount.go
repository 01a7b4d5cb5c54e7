// SPDX-License-Identifier: Apache-2.0

package mount

import "path"

// BindMount returns the target of the bind mount that has the absolute path p, and its source without links. ok is
// false if p is not below a bind mount.
func (t *Table) BindMount(p string) (target, source string, ok bool) {
	m := t.lookup(path.Clean(p))
	if m == nil || m == t.fallback || !m.bind || m.err != nil || !path.IsAbs(p) {
		return "", "", false
	}
	return m.target, m.real, true
}
