// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// One directory may have several names: by symbolic links, by bind mounts, by two mounts of
// one disk. Its path does not show that. Three properties do, and each finds aliases that the
// others miss: the path without links, device and inode, and the place in its file system.

// View is this host's mount table at one moment.
type View struct{ mounts []Info }

// ReadView reads the mount table. The view is empty on a system that has no mountinfo file.
func ReadView() (*View, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	return &View{ParseMountInfo(string(text))}, nil
}

// Location is a file or directory of the host by all that identifies it.
type Location struct {
	Path  string // without links, as far as it exists
	Place Place
	info  os.FileInfo // nil: it does not exist
}

// Locate identifies what the absolute path p leads to.
func (v *View) Locate(p string) Location {
	ways := Links(p)
	return v.at(ways[len(ways)-1])
}

// at identifies p, which has no links.
func (v *View) at(p string) Location {
	l := Location{Path: p, Place: v.place(p)}
	if fi, err := os.Stat(p); err == nil {
		l.info = fi
	}
	return l
}

// place returns the place of a path without links: as the kernel says which mount it is on,
// or else by the mount with the longest path.
func (v *View) place(p string) Place {
	id, name := mountOf(p)
	var near *Info
	for i := range v.mounts {
		m := &v.mounts[i]
		if _, below := cutPrefix(p, m.At); below && (near == nil || len(m.At) >= len(near.At)) { // the later is on top
			near = m
		}
		if id != 0 && m.ID == id {
			return m.below(name)
		}
	}
	if near == nil {
		return Place{}
	}
	return near.below(p)
}

// MountsBelow returns the mounts of this host whose mount points lie below the path p, which
// has no links.
func (v *View) MountsBelow(p string) (all []Info) {
	for _, m := range v.mounts {
		if rest, below := cutPrefix(m.At, p); below && rest != "." {
			all = append(all, m)
		}
	}
	return all
}

// is reports whether two locations are one file.
func (l Location) is(m Location) bool {
	return l.Path == m.Path || l.info != nil && m.info != nil && os.SameFile(l.info, m.info)
}

// Route is all that decides which file a path leads to: the file, the symbolic links on the
// way, and the directories above all of these.
type Route []Location

// Route identifies all that decides which file the absolute path p leads to.
func (v *View) Route(p string) (r Route) {
	had := map[string]bool{}
	for _, at := range append(Links(p), filepath.Clean(p)) {
		for ; !had[at]; at = filepath.Dir(at) {
			had[at] = true
			r = append(r, v.at(at))
		}
	}
	return r
}

// Through reports whether the path is l, lies below it, or leads through it, whatever names
// the two have: who can write to all of l can then change what the path leads to.
func (r Route) Through(l Location) bool {
	for _, at := range r {
		if at.is(l) || at.Place.In(l.Place) {
			return true
		}
	}
	return false
}

// Overlap reports whether one of two absolute paths is, or leads through, the other, whatever
// names they have.
func (v *View) Overlap(a, b string) bool {
	return v.Route(a).Through(v.Locate(b)) || v.Route(b).Through(v.Locate(a))
}

// In reports whether something on the route is in the directory of a file system, or is it.
func (r Route) In(p Place) bool {
	for _, at := range r {
		if at.Place.In(p) {
			return true
		}
	}
	return false
}

// Shows reports whether the directory l shows the file that has the absolute path file, at the
// end of that path below l, though neither inode nor place tell so: bindfs, an overlay or a
// file server on this host show files as their own. They keep the times of a file, and nobody
// can set the time of its last change.
func (l Location) Shows(file string) bool {
	return l.info != nil && l.info.IsDir() && shows(l.Path, file)
}
