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

// SetOthers sets the paths that containers of other sessions can write. Sources does not return them.
func (t *Table) SetOthers(paths []string) {
	var mounts []Point
	for _, p := range paths {
		mounts = append(mounts, Point{Source: p})
	}
	_, behind := splitTargets(mounts)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.others, t.othersWrites = behind, &writes{}
}

// Others returns a table of what containers of other sessions can write, or nil for nothing.
func (t *Table) Others() *Table {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.others) == 0 {
		return nil
	}
	return &Table{writes: &writes{}, others: t.others, othersWrites: t.othersWrites}
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
	return known.of(all)
}

// knownOthers returns all that containers of other sessions can write by now, or nil for nothing.
func (t *Table) knownOthers() *writes {
	t.mu.RLock()
	all, known := t.others, t.othersWrites
	t.mu.RUnlock()
	if len(all) == 0 {
		return nil
	}
	return known.of(slices.Clone(all))
}

// of identifies what all show, once, and returns w.
func (w *writes) of(all []mount) *writes {
	w.once.Do(func() {
		all = slices.DeleteFunc(all, func(m mount) bool { return m.source == "." || m.readOnly && m.alone })
		if len(all) > 0 {
			w.err = w.identify(all)
		}
	})
	return w
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

// Writable reports whether the container, or one of another session, can change what the host calls p, or
// create it: through one of its mounts the file itself, a directory above it, or a link on the way to it.
func (t *Table) Writable(p string) bool { return t.known().writable(p) || t.knownOthers().writable(p) }

// ControlsFilesIn reports whether the container, or one of another session, can have the host find a file of
// its own in the directory p: p is writable, or one of its files is mounted by itself.
func (t *Table) ControlsFilesIn(p string) bool {
	return t.known().controlsFilesIn(p) || t.knownOthers().controlsFilesIn(p)
}

// Writer names who can write p, or a file in it, of which Writable or ControlsFilesIn reports that.
func (t *Table) Writer(p string) string {
	if t.known().controlsFilesIn(p) || !t.knownOthers().controlsFilesIn(p) {
		return "the container"
	}
	return "the container of another session"
}

// writable is Table.Writable of one writer, of whom nil writes nothing.
func (w *writes) writable(p string) bool {
	if w == nil || w.err != nil {
		return w != nil
	}
	return len(w.sources)+len(w.below) > 0 && w.changeable(w.view.Route(p))
}

// controlsFilesIn is Table.ControlsFilesIn of one writer.
func (w *writes) controlsFilesIn(p string) bool {
	if w == nil || w.writable(p) {
		return w != nil
	}
	if len(w.sources) == 0 {
		return false
	}
	fi, err := os.Stat(p)
	return err == nil && slices.ContainsFunc(w.sources, func(l Location) bool {
		return sameFile(path.Dir(l.Path), fi) && isFile(l.Path)
	})
}

// overlaps reports whether the writer can write the host's directory p, which has no links, or a part of it.
func (w *writes) overlaps(p string) bool {
	if w == nil || w.writable(p) {
		return w != nil
	}
	if len(w.sources) == 0 {
		return w.within(p)
	}
	at := w.view.Locate(p)
	return slices.ContainsFunc(w.sources, func(l Location) bool { return w.view.Route(l.Path).Through(at) }) || w.within(p)
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
