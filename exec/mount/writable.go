// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path"
	"slices"
	"sync"
)

// writes is all that a container can write of this host, by whatever names it is reached.
type writes struct {
	once    sync.Once
	view    *View
	err     error // the mount table of this host cannot be read: everything counts as writable
	sources []Location
	below   []Info // what this host has mounted below the sources, and can be written
}

// Written is a table of what can be written, and no more: no call is made in it, and it holds nothing.
func Written(paths []string) *Table {
	t := &Table{writes: &writes{}}
	var mounts []Point
	for _, p := range paths {
		mounts = append(mounts, Point{Source: p})
	}
	_, t.behind = splitTargets(mounts)
	return t
}

// splitTargets returns the mounts that have a target, and what the others show.
func splitTargets(mounts []Point) (rest []Point, behind []mount) {
	for _, m := range mounts {
		if m.Target != "" {
			rest = append(rest, m)
			continue
		}
		b := mount{source: path.Clean(m.Source), readOnly: m.ReadOnly, alone: m.Alone}
		b.real = real(b)
		behind = append(behind, b)
	}
	return rest, behind
}

// Also adds what others write who make calls as the container does. Targets do not count.
func (t *Table) Also(mounts []Point) {
	for i := range mounts {
		mounts[i].Target = ""
	}
	_, more := splitTargets(mounts)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behind = slices.Concat(t.behind, more)
	t.writes = &writes{}
}

// known returns all that the container can write by now.
func (t *Table) known() *writes {
	t.mu.RLock()
	all, known := slices.Concat(t.mounts, t.behind), t.writes
	t.mu.RUnlock()
	known.once.Do(func() {
		all = slices.DeleteFunc(all, func(m mount) bool { return m.source == "." || m.readOnly && m.alone })
		if len(all) > 0 {
			known.err = known.identify(all)
		}
	})
	return known
}

// Sources returns the real paths of what the container can write.
func (t *Table) Sources() (list []string) {
	known := t.known()
	for _, at := range known.sources {
		list = append(list, at.Path)
	}
	for _, m := range known.below {
		list = append(list, m.At)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Writable reports whether the container can change what the host calls p, or create it:
// through one of its mounts the file itself, a directory above it, or a link on the way to it.
func (t *Table) Writable(p string) bool {
	known := t.known()
	if known.err != nil {
		return true
	}
	return len(known.sources)+len(known.below) > 0 && known.changeable(known.view.Route(p))
}

// ControlsFilesIn reports whether the container can have the host find a file of its own in the
// directory p: p is writable, or one of its files is mounted by itself.
func (t *Table) ControlsFilesIn(p string) bool {
	if t.Writable(p) {
		return true
	}
	sources := t.known().sources
	if len(sources) == 0 {
		return false
	}
	fi, err := os.Stat(p)
	return err == nil && slices.ContainsFunc(sources, func(l Location) bool {
		return sameFile(path.Dir(l.Path), fi) && isFile(l.Path)
	})
}

// changeable reports whether a path by route can be changed by a writer of the sources.
func (w *writes) changeable(route Route) bool {
	return slices.ContainsFunc(w.sources, route.Through) ||
		slices.ContainsFunc(w.below, func(m Info) bool { return route.In(m.Place()) })
}

// identify locates the sources that can be written. What is mounted below a source is shown
// with it, and many engines make only the mount itself read-only.
func (w *writes) identify(all []mount) (err error) {
	if w.view, err = ReadView(); err != nil {
		return err
	}
	for _, m := range all {
		if !m.readOnly {
			w.sources = append(w.sources, w.view.Locate(m.real))
		}
		if m.alone {
			continue
		}
		for _, below := range w.view.MountsBelow(m.real) {
			if !below.ReadOnly {
				w.below = append(w.below, below)
			}
		}
	}
	return nil
}

func isFile(p string) bool {
	fi, err := os.Stat(p)
	return err == nil && fi.Mode().IsRegular()
}

func sameFile(p string, fi os.FileInfo) bool {
	other, err := os.Stat(p)
	return err == nil && os.SameFile(other, fi)
}
