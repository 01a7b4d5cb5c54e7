// SPDX-License-Identifier: Apache-2.0

package dir

import "path"

// Share returns the container's directories of the host as another container can be given
// them, for a command in cwd, and what cwd is called there. Only the caller can know that
// the engine mounts what is held: it looks at where the command then stands. So of a source
// that the container could have replaced, because another mount of its lets it write there,
// only that of cwd is shared.
func (t *Table) Share(cwd string) (mounts []Mount, at string) {
	at = path.Clean(cwd)
	own, rest := t.find(at)
	if t.fallback != nil {
		at = path.Join(own.source, rest)
		return []Mount{{Target: own.source, Source: own.source, Bind: true}}, at
	}
	for i := range t.mounts {
		m := &t.mounts[i]
		if m.bind && m.err == nil && (m == own || !t.replaceable(m)) {
			mounts = append(mounts, Mount{Target: m.target, Source: m.source, Bind: true, ReadOnly: m.readOnly})
		}
	}
	return mounts, at
}

// replaceable reports whether the container can put something else where m's source is.
func (t *Table) replaceable(m *mount) bool {
	for i := range t.mounts {
		o := &t.mounts[i]
		rest, below := cut(m.source, o.source)
		if o.bind && !o.readOnly && below && rest != "." {
			return true
		}
	}
	return false
}
