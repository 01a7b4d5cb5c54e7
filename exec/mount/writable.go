// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path"
	"slices"
	"sync"
)

// writableSet identifies everything of this host that a container can write, whatever names it has.
type writableSet struct {
	once    sync.Once
	host    *HostMounts
	err     error // if the mount table of this host cannot be read, everything counts as writable
	sources []Location
	below   []Info // writable mounts of this host below the sources
}

// WritableTable returns a table that only knows which files can be written: those at and below paths. It holds no
// directory, and Open finds none.
func WritableTable(paths []string) *Table {
	return &Table{own: &writableSet{}, sourcesOnly: sourcesOf(paths)}
}

// sourcesOf returns writable mounts of paths, without targets.
func sourcesOf(paths []string) []mount {
	var mounts []Point
	for _, p := range paths {
		mounts = append(mounts, Point{Source: p})
	}
	_, sourcesOnly := splitTargets(mounts)
	return sourcesOnly
}

// Replaceable returns the path in written that name is below. Code that can write there can replace name by a link. A
// path that equals name does not count.
func Replaceable(name string, written []string) (at string, ok bool) {
	others := slices.DeleteFunc(slices.Clone(written), func(at string) bool { return path.Clean(at) == path.Clean(name) })
	if !WritableTable(others).Writable(name) {
		return "", false
	}
	i := slices.IndexFunc(others, func(at string) bool { return WritableTable([]string{at}).Writable(name) })
	return others[max(i, 0)], true
}

// splitTargets returns the mounts with a target, and those without one.
func splitTargets(mounts []Point) (rest []Point, sourcesOnly []mount) {
	for _, m := range mounts {
		if m.Target != "" {
			rest = append(rest, m)
			continue
		}
		b := mount{source: path.Clean(m.Source), readOnly: m.ReadOnly, nonRecursive: m.NonRecursive}
		b.real = realPath(b)
		sourcesOnly = append(sourcesOnly, b)
	}
	return rest, sourcesOnly
}

// SetOthers sets the paths that containers of other sessions can write. WritableSources does not return them.
func (t *Table) SetOthers(paths []string) {
	others := sourcesOf(paths)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.others, t.otherSessions = others, &writableSet{}
}

// Others returns a table of the paths that containers of other sessions can write, or nil if there are none.
func (t *Table) Others() *Table {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.others) == 0 {
		return nil
	}
	return &Table{own: &writableSet{}, others: t.others, otherSessions: t.otherSessions}
}

// AddWritable makes the sources of mounts count as writable for callers of this session. Of a read-only mount, only the
// writable mounts below it count. The mounts are those of other callers than the table's container. It clears the
// Targets of mounts.
func (t *Table) AddWritable(mounts []Point) {
	for i := range mounts {
		mounts[i].Target = ""
	}
	_, more := splitTargets(mounts)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sourcesOnly = slices.Concat(t.sourcesOnly, more)
	t.own = &writableSet{}
}

// ownWritable returns the current writableSet of the container.
func (t *Table) ownWritable() *writableSet {
	t.mu.RLock()
	all, known := slices.Concat(t.mounts, t.sourcesOnly), t.own
	t.mu.RUnlock()
	return known.load(all)
}

// othersWritable returns the current writableSet of the containers of other sessions, or nil if there are none.
func (t *Table) othersWritable() *writableSet {
	t.mu.RLock()
	all, known := t.others, t.otherSessions
	t.mu.RUnlock()
	if len(all) == 0 {
		return nil
	}
	return known.load(slices.Clone(all))
}

// load identifies the sources of all at the first call, and returns w.
func (w *writableSet) load(all []mount) *writableSet {
	w.once.Do(func() {
		all = slices.DeleteFunc(all, func(m mount) bool { return m.source == "." || m.readOnly && m.nonRecursive })
		if len(all) > 0 {
			w.err = w.identify(all)
		}
	})
	return w
}

// WritableSources returns the real paths of the directories and files that are mounted writable.
func (t *Table) WritableSources() (list []string) {
	known := t.ownWritable()
	for _, at := range known.sources {
		list = append(list, at.Path)
	}
	for _, m := range known.below {
		list = append(list, m.At)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Writable reports whether the container, or one of another session, can change or create the host's file p. It can if
// one of its mounts lets it write the file, a directory above it, or a link on the way to it.
func (t *Table) Writable(p string) bool {
	return t.ownWritable().writable(p) || t.othersWritable().writable(p)
}

// ControlsFilesIn reports whether the container, or one of another session, controls a file in the host's directory p.
// Either p is writable, or one of its files is mounted alone.
func (t *Table) ControlsFilesIn(p string) bool {
	return t.ownWritable().controlsFilesIn(p) || t.othersWritable().controlsFilesIn(p)
}

// Writer names the container that can write p, or a file in it, if Writable or ControlsFilesIn reports true.
func (t *Table) Writer(p string) string {
	if t.ownWritable().controlsFilesIn(p) || !t.othersWritable().controlsFilesIn(p) {
		return "the container"
	}
	return "the container of another session"
}

// writable is Table.Writable for one writableSet. A nil writableSet is empty.
func (w *writableSet) writable(p string) bool {
	if w == nil || w.err != nil {
		return w != nil
	}
	return len(w.sources)+len(w.below) > 0 && w.changeable(w.host.Resolve(p))
}

// controlsFilesIn is Table.ControlsFilesIn for one writableSet.
func (w *writableSet) controlsFilesIn(p string) bool {
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

// overlaps reports whether the container can write the host's directory p, which has no links, or a part of it.
func (w *writableSet) overlaps(p string) bool {
	if w == nil || w.writable(p) {
		return w != nil
	}
	if len(w.sources) == 0 {
		return w.within(p)
	}
	at := w.host.Locate(p)
	return slices.ContainsFunc(w.sources, func(l Location) bool { return w.host.Resolve(l.Path).Through(at) }) || w.within(p)
}

// changeable reports whether the container can change the file to which resolution leads.
func (w *writableSet) changeable(resolution Resolution) bool {
	return slices.ContainsFunc(w.sources, resolution.Through) ||
		slices.ContainsFunc(w.below, func(m Info) bool { return resolution.In(m.FSPath()) })
}

// identify locates the writable sources. The container also sees mounts below a source, and many engines make only the
// mount itself read-only.
func (w *writableSet) identify(all []mount) (err error) {
	if w.host, err = ReadHostMounts(); err != nil {
		return err
	}
	for _, m := range all {
		if !m.readOnly {
			w.sources = append(w.sources, w.host.Locate(m.real))
		}
		if m.nonRecursive {
			continue
		}
		for _, below := range w.host.MountsBelow(m.real) {
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
