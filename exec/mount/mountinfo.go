// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"io"
	"os"
	"path"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Info is one line of a mountinfo file (proc_pid_mountinfo(5)): the directory Root of the file system Dev is mounted at
// At.
type Info struct {
	ID       int
	Parent   int    // the id of the mount on which this one lies
	Dev      string // major:minor of the superblock; the same for all subvolumes of a btrfs
	Root     string
	At       string
	ReadOnly bool // this mount; the file system may be writable through another one
}

// maxTable is the maximum number of bytes of a mount table. By default, the kernel limits mounts to 100,000.
const maxTable = 16 << 20

// ErrTooLong means that a mount table is larger than the limit.
var ErrTooLong = errors.New("the mount table is too long")

// ReadMountinfo reads a mountinfo file. The length is limited, because a container can add mounts to its own.
func ReadMountinfo(path string) (text string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTable+1))
	if err == nil && len(b) > maxTable {
		err = ErrTooLong
	}
	return string(b), err
}

// FSPath identifies a file or directory by its path in its file system, which is the same through every mount. The zero
// value identifies nothing.
type FSPath struct{ Dev, Root string }

// In reports whether p is q or lies below it.
func (p FSPath) In(q FSPath) bool {
	_, below := names.CutDir(p.Root, q.Root)
	return below && p.Dev != "" && p.Dev == q.Dev
}

// FSPath returns the directory that is mounted.
func (m Info) FSPath() FSPath { return FSPath{m.Dev, m.Root} }

// below returns the FSPath of the absolute path p, which lies on m.
func (m Info) below(p string) FSPath {
	rest, ok := names.CutDir(p, m.At)
	if !ok {
		return FSPath{}
	}
	return FSPath{m.Dev, path.Join(m.Root, rest)}
}
