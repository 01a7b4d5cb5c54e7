// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"fmt"
	"path"
	"strconv"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// File holds the file with the absolute path p in the container. It must be a mounted directory, or lie below a bind mount
// without a link on the way.
func (t *Table) File(p string) (*dir.File, error) {
	p = path.Clean(p)
	m := t.at(p)
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

// at is find under the lock.
func (t *Table) at(p string) *mount {
	t.mu.RLock()
	defer t.mu.RUnlock()
	m, _ := t.find(p)
	return m
}
