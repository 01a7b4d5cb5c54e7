// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// Info is one line of a mountinfo file (proc_pid_mountinfo(5)): the directory Root of
// the file system Dev is mounted at At.
type Info struct {
	ID       uint64
	Parent   uint64 // the mount that this one is on
	Dev      string // major:minor of the superblock; one for all subvolumes of a btrfs
	Root     string
	At       string
	ReadOnly bool // this mount; the file system may be writable by another one
}

// ParseMountInfo reads the text of a mountinfo file.
func ParseMountInfo(text string) (all []Info) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		id, err := strconv.ParseUint(f[0], 10, 64)
		if err != nil {
			continue
		}
		parent, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			continue
		}
		readOnly := slices.Contains(strings.Split(f[5], ","), "ro")
		all = append(all, Info{id, parent, f[2], unescaped(f[3]), unescaped(f[4]), readOnly})
	}
	return all
}

// unescaped undoes the \040 and its like of mountinfo.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Place is a directory or file as its file system has it. It is the same by whatever mount
// the file is reached. The zero value is no place.
type Place struct{ Dev, Root string }

// In reports whether p is q or lies below it.
func (p Place) In(q Place) bool {
	_, below := cutPrefix(p.Root, q.Root)
	return below && p.Dev != "" && p.Dev == q.Dev
}

// Place returns the place that m shows.
func (m Info) Place() Place { return Place{m.Dev, m.Root} }

// below returns the place of the absolute path p, which m shows.
func (m Info) below(p string) Place {
	rest, ok := cutPrefix(p, m.At)
	if !ok {
		return Place{}
	}
	return Place{m.Dev, path.Join(m.Root, rest)}
}
