// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"fmt"
	"path"
	"strconv"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// File holds the file with the absolute path p in the container: a mounted directory, or a file below a bind mount. It
// follows no link.
func (t *Table) File(p string) (*dir.File, error) {
	p = path.Clean(p)
	m := t.lookup(p)
	if m != nil && m != t.fallback && m.bind && m.target == p {
		d, err := t.Open(p)
		if err != nil {
			return nil, err
		}
		return d.AsFile(), nil
	}
	d, err := t.Open(path.Dir(p))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	switch {
	case t.fallback != nil:
		return nil, fmt.Errorf("%w: %s is not below a bind mount: there is none", ErrMismatch, strconv.QuoteToASCII(p))
	case m == nil || m.target == p:
		return nil, fmt.Errorf("%w: %s is a mount itself", ErrMismatch, strconv.QuoteToASCII(p))
	}
	f, err := d.File(path.Base(p))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", strconv.QuoteToASCII(p), err)
	}
	return f, nil
}

// lookup is find, and acquires the lock.
func (t *Table) lookup(p string) *mount {
	t.mu.RLock()
	defer t.mu.RUnlock()
	m, _ := t.find(p)
	return m
}
