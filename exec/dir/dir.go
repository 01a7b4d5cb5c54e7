// SPDX-License-Identifier: Apache-2.0

// Package dir holds directories: those of the host that a container sees through its
// bind mounts, and the one that a call is made in.
//
//	container's cwd --mount table--> held root + rest --openat2--> held directory
//
// Its one law: a path that a container names is a claim. It is resolved once, below a
// root that was opened when the table was made, through no symbolic link and into no
// other mount; from then on the descriptor is what is used, never the path. It does not
// decide who may run what, and it does not read or write what is in a directory.
package dir

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
)

// ErrMismatch says that a container's directory has no counterpart on the host.
var ErrMismatch = errors.New("workdir mismatch")

// Mount is one entry of a container's mount table, as the engine reports it.
type Mount struct {
	Target string // in the container
	Source string // on the host
	Bind   bool   // false for a volume, a tmpfs, a single file and our own

	ReadOnly bool // for the container
	File     bool // a single file is mounted there; only Share says so
}

// Table maps a container's directories to the host's. Its methods may be called by
// several goroutines at once.
type Table struct {
	mu       sync.RWMutex // held for writing while the roots are closed
	mounts   []mount
	fallback *mount // serves every directory; nil when there is a bind
	closed   bool
}

// mount is a Mount whose source is held.
type mount struct {
	target   string // cleaned
	source   string // as the engine names it
	real     string // the same without links
	bind     bool
	readOnly bool
	file     bool  // it is a single file
	fd       int   // -1 when not held
	err      error // why a bind is not held
}

// NewTable opens and holds the source of each bind. A source that is a file does not
// count as a bind; one that cannot be opened does, and answers for what is below it
// with the reason. fallback, an absolute directory of the host, stands for every
// directory of the container when there is no bind at all; it may be "".
func NewTable(mounts []Mount, fallback string) (*Table, error) {
	t := &Table{mounts: make([]mount, len(mounts))}
	for i := range t.mounts {
		t.mounts[i].fd = -1
	}
	binds := 0
	for _, i := range bySource(mounts) {
		t.mounts[i] = t.hold(mounts[i])
		if t.mounts[i].bind {
			binds++
		}
	}
	if binds > 0 || fallback == "" {
		return t, nil
	}
	fd, err := openRoot(fallback)
	if err != nil {
		return nil, fmt.Errorf("hold directory %s: %w", strconv.QuoteToASCII(fallback), err)
	}
	t.fallback = &mount{target: "/", source: fallback, real: fallback, bind: true, fd: fd}
	return t, nil
}

// Targets returns the directories of the container below which calls may be made.
func (t *Table) Targets() []string {
	var list []string
	for _, m := range t.mounts {
		if m.bind && m.err == nil {
			list = append(list, m.target)
		}
	}
	return list
}

// Open returns the host's directory that is cwd in the container. The error wraps
// ErrMismatch when there is none.
func (t *Table) Open(cwd string) (*Dir, error) {
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
	d, err := openBelow(m.fd, m.real, rest)
	if err != nil {
		return nil, fmt.Errorf("open directory %s: %w", name, err)
	}
	return d, nil
}

// find returns the mount that decides about a cleaned path, the one with the longest
// target, and what of the path is below it.
func (t *Table) find(cwd string) (best *mount, rest string) {
	if t.fallback != nil {
		return t.fallback, "."
	}
	for i := range t.mounts {
		m := &t.mounts[i]
		below, ok := cut(cwd, m.target)
		// Of two mounts on one target the later one covers the other.
		if ok && (best == nil || len(m.target) >= len(best.target)) {
			best, rest = m, below
		}
	}
	return best, rest
}

// cut returns what of the cleaned path p is below dir, whole elements compared: "/w" is
// below "/" and "/w", and not below "/workspace".
func cut(p, dir string) (rest string, ok bool) {
	if p == dir {
		return ".", true
	}
	if dir != "/" {
		dir += "/"
	}
	return strings.CutPrefix(p, dir)
}

// Close lets the held sources go. Directories that are open stay open.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	var errs []error
	for _, m := range t.mounts {
		errs = append(errs, closeHeld(m.fd))
	}
	if t.fallback != nil {
		errs = append(errs, closeHeld(t.fallback.fd))
	}
	return errors.Join(errs...)
}

// Dir is a directory of the host, held open.
type Dir struct {
	fd   int
	path string
}

// FD returns the descriptor, which stays d's. It can be named, as /proc/self/fd/N, and
// used as a base, but not read.
func (d *Dir) FD() int { return d.fd }

// Path returns what the directory was called when it was opened. It is for people and
// PWD; what it leads to now may be something else.
func (d *Dir) Path() string { return d.path }

// Close lets the directory go. A second call does nothing.
func (d *Dir) Close() error {
	fd := d.fd
	d.fd = -1
	return closeHeld(fd)
}

// CloexecAll marks every descriptor but 0, 1 and 2 so that no command inherits it. It
// is for the start of a process, which may have been given more than it knows of.
func CloexecAll() error { return cloexecAll() }
