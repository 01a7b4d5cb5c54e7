// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// OpenSource is a directory of the host that a container sees.
type OpenSource struct {
	*dir.Dir
	ReadOnly bool // for the container
}

// OpenSources returns the container's directories of the host, opened, for a program that uses their paths on the host.
// The caller closes them. The Default is not among them. It is an error if another mount below one of them is no
// directory of the host, or another one than the host has there. The program would see the host's files instead. If the
// program writes, a mount whose ReadOnly differs from the directory above it is an error, too.
func (t *Table) OpenSources(writes bool) (list []OpenSource, err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.closed {
		return nil, errors.New("the mount table is closed")
	}
	defer func() {
		if err != nil {
			CloseAll(list)
			list = nil
		}
	}()
	for i := range t.mounts {
		m := &t.mounts[i]
		if !t.sameBelow(m, writes) {
			return list, fmt.Errorf("%s is another mount, or a read-only one, in a directory of the host, and a sandbox cannot keep a program from a part of a directory",
				strconv.QuoteToASCII(m.target))
		}
		if !m.isHostDir() {
			continue
		}
		d, err := m.held.HoldBelow(".")
		if err != nil {
			return list, err
		}
		list = append(list, OpenSource{Dir: d, ReadOnly: m.readOnly})
	}
	return list, nil
}

// sameBelow reports whether m shows what each directory of the host above it has at this place. If writes is set, m
// must also be as writable.
func (t *Table) sameBelow(m *mount, writes bool) bool {
	for i := range t.mounts {
		outer := &t.mounts[i]
		rest, below := names.CutDir(m.target, outer.target)
		if !below || outer == m || !outer.isHostDir() {
			continue
		}
		if !m.isHostDir() || writes && m.readOnly != outer.readOnly || m.real != path.Join(outer.real, rest) {
			return false
		}
	}
	return true
}

// CloseAll closes the directories that OpenSources returned.
func CloseAll(list []OpenSource) {
	for _, o := range list {
		o.Close()
	}
}
