// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// changes reports the first change in the directories of requests since begin. It reports no second change, because
// calls cause many.
type changes struct {
	f  *os.File // inotify(7)
	fd int      // of f
}

// newChanges returns nil if the kernel cannot report changes, for example because there are too many inotify instances.
func newChanges() *changes {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	return &changes{os.NewFile(uintptr(fd), "inotify"), fd}
}

// spaceTaken are the events without which a container cannot take disk space in a directory. Writes to deleted files
// are reported, too, but not writes to mapped files.
const spaceTaken = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MODIFY | unix.IN_ATTRIB

// begin starts to watch for the next change in root and its directories. It returns false if that is not possible.
func (c *changes) begin(root *os.Root) bool {
	if c == nil {
		return false
	}
	c.changed() // discards earlier changes
	top, err := fs.ReadDir(root.FS(), ".")
	if err != nil || len(top) > maxWatched || !c.add(root.Name()) {
		return false
	}
	for _, e := range top {
		if e.IsDir() && !c.add(root.Name()+"/"+e.Name()) {
			return false
		}
	}
	return true
}

// add watches one directory, unless the container has replaced it by a link.
func (c *changes) add(path string) bool {
	_, err := unix.InotifyAddWatch(c.fd, path, spaceTaken|unix.IN_ONESHOT|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
	return err == nil
}

// changed reports whether there was a change.
func (c *changes) changed() (any bool) {
	var buf [4 << 10]byte
	for {
		n, err := unix.Read(c.fd, buf[:])
		if n <= 0 || err != nil {
			return any
		}
		any = true
	}
}

// wait returns after a change, or when ctx is done.
func (c *changes) wait(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { c.f.SetReadDeadline(time.Unix(1, 0)) })()
	var buf [4 << 10]byte
	c.f.Read(buf[:]) // an error ends the wait, too
}

func (c *changes) close() {
	if c != nil {
		c.f.Close()
	}
}
