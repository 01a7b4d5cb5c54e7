// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// One directory may have several names: by symbolic links, by bind mounts, by two mounts of
// one disk. Its path does not show that. Three properties do, and each finds aliases that the
// others miss: the path without links, device and inode, and the FSPath.

// HostMounts is a snapshot of this host's mount table.
type HostMounts struct{ mounts []Info }

// ReadHostMounts reads the mount table. The snapshot is empty on a system that has no mountinfo file.
func ReadHostMounts() (*HostMounts, error) {
	text, err := ReadMountinfo("/proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return &HostMounts{}, nil
	}
	var mounts []Info
	if err == nil {
		mounts, err = ParseMountinfo(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	return &HostMounts{mounts}, nil
}

// Location is a file or directory of the host, with everything that identifies it.
type Location struct {
	Path   string // without links, as far as it exists
	FSPath FSPath
	info   os.FileInfo // nil: it does not exist
}

// Locate identifies the file to which the absolute path p leads.
func (v *HostMounts) Locate(p string) Location {
	ways := Links(p)
	return v.at(ways[len(ways)-1])
}

// at identifies p, which has no links.
func (v *HostMounts) at(p string) Location {
	l := Location{Path: p, FSPath: v.fsPath(p)}
	if fi, err := os.Stat(p); err == nil {
		l.info = fi
	}
	return l
}

// fsPath returns the FSPath of a path without links. It is on the mount that the kernel reports for the path, or else
// on the mount with the longest path.
func (v *HostMounts) fsPath(p string) FSPath {
	id, name := mountOf(p)
	var near *Info
	for i := range v.mounts {
		m := &v.mounts[i]
		if _, below := names.CutDir(p, m.At); below && (near == nil || len(m.At) >= len(near.At)) { // a later mount covers an earlier one
			near = m
		}
		if id != 0 && m.ID == id {
			return m.below(name)
		}
	}
	if near == nil {
		return FSPath{}
	}
	return near.below(p)
}

// MountsBelow returns the mounts of this host whose mount points lie below the path p, which
// has no links.
func (v *HostMounts) MountsBelow(p string) (all []Info) {
	for _, m := range v.mounts {
		if rest, below := names.CutDir(m.At, p); below && rest != "." {
			all = append(all, m)
		}
	}
	return all
}

// is reports whether two locations are one file.
func (l Location) is(m Location) bool {
	return l.Path == m.Path || l.info != nil && m.info != nil && os.SameFile(l.info, m.info)
}

// Resolution has everything that determines to which file a path leads: the file, the symbolic links on the way, and
// all directories above these.
type Resolution []Location

// Resolve returns the resolution of the absolute path p.
func (v *HostMounts) Resolve(p string) (r Resolution) {
	had := map[string]bool{}
	for _, at := range append(Links(p), filepath.Clean(p)) {
		for ; !had[at]; at = filepath.Dir(at) {
			had[at] = true
			r = append(r, v.at(at))
		}
	}
	return r
}

// Through reports whether the path is l, lies below it, or leads through it, whatever names the two have. A process
// that can write all of l can then change to which file the path leads.
func (r Resolution) Through(l Location) bool {
	for _, at := range r {
		if at.is(l) || at.FSPath.In(l.FSPath) {
			return true
		}
	}
	return false
}

// Overlap reports whether one of two absolute paths is the other, or leads through it, whatever names they have.
func (v *HostMounts) Overlap(a, b string) bool {
	return v.Resolve(a).Through(v.Locate(b)) || v.Resolve(b).Through(v.Locate(a))
}

// In reports whether a part of the resolution has the FSPath p, or lies below it.
func (r Resolution) In(p FSPath) bool {
	for _, at := range r {
		if at.FSPath.In(p) {
			return true
		}
	}
	return false
}

// Shows reports whether the directory l contains the file with the absolute path file, although neither inode nor
// FSPath show that. bindfs, an overlay or a file server on this host show files with other inodes. It looks below l
// for each suffix of that path. Such file systems keep the times of a file, and nobody can set its ctime.
func (l Location) Shows(file string) bool {
	return l.info != nil && l.info.IsDir() && shows(l.Path, file)
}
