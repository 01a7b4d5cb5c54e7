// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// bySource returns the indexes of mounts in an order in which a source comes before the sources below it.
func bySource(mounts []Point) []int {
	order := make([]int, len(mounts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return len(path.Clean(mounts[a].Source)) - len(path.Clean(mounts[b].Source))
	})
	return order
}

// hold opens m's source. A source below another one is opened below the held outer source, through no link. Otherwise a
// container could replace it, and be started again.
func (t *Table) hold(m Point) (held mount) {
	held = mount{target: path.Clean("/" + m.Target), source: path.Clean(m.Source), bind: m.Bind, readOnly: m.ReadOnly, nonRecursive: m.NonRecursive}
	defer func() { held.real = realPath(held) }()
	if !held.bind {
		return held
	}
	var err error
	if outer, rest := t.outer(held.source); outer != nil {
		held.held, err = outer.held.HoldBelow(rest)
	} else {
		held.held, err = dir.Hold(held.source)
	}
	switch {
	case err == nil:
	case errors.Is(err, syscall.ENOTDIR):
		held.bind, held.file = false, true
	default:
		held.err = fmt.Errorf("hold %s: %w", strconv.QuoteToASCII(held.source), err)
	}
	return held
}

// realPath returns the source of m without links: the path of the held directory, if there is one.
func realPath(m mount) string {
	if m.held != nil {
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(m.held.FD())); err == nil {
			return name
		}
	}
	if name, err := filepath.EvalSymlinks(m.source); err == nil {
		return name
	}
	return m.source
}

// outer returns the innermost held mount above source.
func (t *Table) outer(source string) (best *mount, rest string) {
	for i := range t.mounts {
		m := &t.mounts[i]
		if m.held == nil {
			continue
		}
		if below, ok := names.CutDir(source, m.source); ok && (best == nil || len(m.source) > len(best.source)) {
			best, rest = m, below
		}
	}
	return best, rest
}

func (m *mount) close() error {
	if m.held == nil {
		return nil
	}
	return m.held.Close()
}
