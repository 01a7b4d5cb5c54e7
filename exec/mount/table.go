// SPDX-License-Identifier: Apache-2.0

// Package mount has two mount tables. Table maps a container's directories to the host's. HostMounts is the mount table
// of this host, and shows the other names of a file.
//
//	container's cwd --Table--> held source + rest --exec/dir--> held directory
//
// Its invariant: a path from a container is only a claim. It is resolved once, below a source that was opened when the
// table was made, without symbolic links and other mounts. Later uses take the descriptor, never the path.
package mount

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// ErrMismatch means that a container's directory has no counterpart on the host.
var ErrMismatch = errors.New("workdir mismatch")

// Point is a mount of a container. The engine reports it, or MountsFor returns it.
type Point struct {
	Target string // in the container; empty: the Point only says whether the container can write the source
	Source string // on the host
	Bind   bool   // false for a volume, a tmpfs and hostexec's own mount

	ReadOnly     bool // for the container
	NonRecursive bool // the bind is not recursive: mounts of this host below the source are not visible
	File         bool // a single file is mounted there; set by MountsFor only
}

// Table maps a container's directories to the host's. Several goroutines may call its methods. It has more methods than
// other types, because the same mounts also decide what the container can write.
type Table struct {
	mounts   []mount
	fallback *mount // from Default; nil if there is a bind mount
	all      bool   // fallback is used for every directory of the container
	unused   string // the source of a Default with All that is ignored, because there are bind mounts

	mu            sync.RWMutex // guards the fields below, and the sources of mounts while they are closed
	closed        bool
	sourcesOnly   []mount // mounts without a target
	own           *writableSet
	others        []mount // paths that containers of other sessions can write
	otherSessions *writableSet
}

// Default is the directory in which commands run if the container has no bind mount.
type Default struct {
	Source string // absolute directory of the host; empty: there is none
	Target string // the one directory of the container for which it is used
	All    bool   // it is used for every directory of the container
}

// mount is a Point whose source is held.
type mount struct {
	target       string // cleaned
	source       string // as the engine reports it
	real         string // source without links
	bind         bool
	readOnly     bool
	nonRecursive bool
	file         bool     // it is a single file
	held         *dir.Dir // nil when not held
	err          error    // why a bind is not held
}

// NewTable holds the source of each bind mount open. A source that is a file does not count as a bind mount. For a
// source that cannot be opened, Open returns the reason. No call runs in a mount without a target. fallback is used
// only if there is no bind mount.
func NewTable(mounts []Point, fallback Default) (*Table, error) {
	t := &Table{own: &writableSet{}}
	mounts, t.sourcesOnly = splitTargets(mounts)
	t.mounts = make([]mount, len(mounts))
	binds := 0
	for _, i := range bySource(mounts) {
		t.mounts[i] = t.hold(mounts[i])
		if t.mounts[i].bind {
			binds++
		}
	}
	if binds > 0 || fallback.Source == "" {
		if fallback.All {
			t.unused = fallback.Source
		}
		return t, nil
	}
	held, err := dir.Hold(fallback.Source)
	if err != nil {
		return nil, fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(fallback.Source), err)
	}
	t.all = fallback.All
	t.fallback = &mount{target: path.Clean(fallback.Target), source: fallback.Source, bind: true, held: held}
	t.fallback.real = realPath(*t.fallback)
	return t, nil
}

// Targets returns the targets of the bind mounts: calls may run in and below them.
func (t *Table) Targets() []string {
	var list []string
	for _, m := range t.mounts {
		if m.bind && m.err == nil {
			list = append(list, m.target)
		}
	}
	return list
}

// Default returns the fallback that is in use. The zero value means that there is none.
func (t *Table) Default() Default {
	if t.fallback == nil {
		return Default{}
	}
	return Default{Source: t.fallback.source, Target: t.fallback.target, All: t.all}
}

// Unused returns the Source of a Default with All that is ignored, because there are bind mounts; otherwise "".
func (t *Table) Unused() string { return t.unused }

// Open returns the host's directory that is cwd in the container. The error wraps ErrMismatch if there is none.
func (t *Table) Open(cwd string) (*dir.Dir, error) {
	name := strconv.QuoteToASCII(cwd)
	if !path.IsAbs(cwd) {
		return nil, fmt.Errorf("%w: %s is not an absolute path", ErrMismatch, name)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.closed {
		return nil, fmt.Errorf("open directory %s: the mount table is closed", name)
	}
	m, rest := t.find(path.Clean(cwd))
	switch {
	case m == nil:
		return nil, fmt.Errorf("%w: %s is not below a bind mount", ErrMismatch, name)
	case !m.bind:
		return nil, fmt.Errorf("%w: %s is below %s, which is no directory of the host", ErrMismatch, name, strconv.QuoteToASCII(m.target))
	case m.err != nil:
		return nil, fmt.Errorf("open directory %s: %w", name, m.err)
	}
	d, err := m.held.OpenBelow(rest)
	if err != nil {
		return nil, fmt.Errorf("open directory %s: %w", name, err)
	}
	return d, nil
}

// find returns the mount in which a cleaned path lies, the one with the longest target, and the rest of the path.
func (t *Table) find(cwd string) (best *mount, rest string) {
	if t.fallback != nil && (t.all || cwd == t.fallback.target) {
		return t.fallback, "."
	}
	for i := range t.mounts {
		m := &t.mounts[i]
		below, ok := names.CutDir(cwd, m.target)
		// Of two mounts on one target the later one covers the other.
		if ok && (best == nil || len(m.target) >= len(best.target)) {
			best, rest = m, below
		}
	}
	return best, rest
}

// Close closes the sources. Directories that Open returned stay open.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	var errs []error
	for _, m := range t.mounts {
		errs = append(errs, m.close())
	}
	if t.fallback != nil {
		errs = append(errs, t.fallback.close())
	}
	return errors.Join(errs...)
}
