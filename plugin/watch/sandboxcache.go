// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/docker/go-units"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// maxCacheFiles is the maximum number of files and directories in a cache that is copied.
const maxCacheFiles = 100_000

// reportInterval is the time between two reports of a copy, and before the first one.
const reportInterval = time.Second

// cacheCopy copies caches of the user, and reports the progress of long copies.
type cacheCopy struct {
	maxSize int64             // of a cache that is copied
	report  func(text string) // nil: there is no report

	name        string
	done, total int64
	next        time.Time // of the next report
}

// copyOnce copies the directory called from to rest in root, unless rest exists. Links in root lead to the paths in
// named. It copies nothing if the directory is too large. The copy gets its name after it is complete.
func (c *cacheCopy) copyOnce(root *os.Root, rest, from string, named []string) error {
	if _, err := root.Lstat(rest); err == nil {
		return nil
	}
	if at, err := removeLinks(root, rest, named); at != "" || err != nil {
		return cmp.Or(err, fmt.Errorf("it is below %s of sandbox: name only one of them", names.Quoted(at)))
	}
	if err := root.MkdirAll(filepath.Dir(rest), 0o700); err != nil {
		return err
	}
	switch fi, err := os.Stat(from); {
	case errors.Is(err, os.ErrNotExist):
		return root.Mkdir(rest, 0o700)
	case err == nil && !fi.IsDir():
		return errors.New("it is not a directory: read or creds can name files")
	}
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer src.Close()
	c.name, c.done, c.total, c.next = from, 0, 0, time.Now().Add(reportInterval)
	if err := c.measure(src); err != nil {
		return err
	}
	part := rest + ".hostexec"
	if err := errors.Join(root.RemoveAll(part), root.Mkdir(part, 0o700)); err != nil {
		return err
	}
	to, err := root.OpenRoot(part)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := c.copyTree(to, src); err != nil {
		return errors.Join(err, root.RemoveAll(part))
	}
	return root.Rename(part, rest)
}

// measure sets c.total. It returns an error if the cache is too large, because the call waits for the copy.
func (c *cacheCopy) measure(from *os.Root) error {
	files := 0
	return Walk(from, func(e Found, err error) error {
		if errors.Is(err, ErrTooDeep) {
			return err
		}
		files++
		if err == nil && e.Info.Mode().IsRegular() {
			c.total += e.Info.Size()
		}
		if c.total > c.maxSize || files > maxCacheFiles {
			return fmt.Errorf("it has more than %s (limits.spool) or %d files: leave it out of cache, and the sandbox fills its own",
				units.BytesSize(float64(c.maxSize)), maxCacheFiles)
		}
		return nil
	})
}

// copyTree copies the directories and regular files of from into to. It leaves out links and files that cannot
// be read.
func (c *cacheCopy) copyTree(to, from *os.Root) error {
	return Walk(from, func(e Found, err error) error {
		switch {
		case err != nil && e.Path == ".":
			return err
		case err != nil:
			return nil
		case e.Info.IsDir():
			return to.Mkdir(e.Path, 0o700)
		case e.Info.Mode().IsRegular():
			return c.copyFile(to, e)
		}
		return nil
	})
}

func (c *cacheCopy) copyFile(to *os.Root, from Found) error {
	in, err := from.Parent.Open(from.Name)
	if err != nil {
		return nil
	}
	defer in.Close()
	mode := fs.FileMode(0o600)
	if fi, err := in.Stat(); err == nil {
		mode = fi.Mode().Perm()
	}
	out, err := to.OpenFile(from.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	for err == nil { // in pieces, to report the progress; the kernel copies each piece
		var n int64
		n, err = io.CopyN(out, in, 16<<20)
		c.add(n)
	}
	if err != io.EOF {
		out.Close()
		return err
	}
	return out.Close()
}

// add counts copied bytes, and reports them now and then.
func (c *cacheCopy) add(n int64) {
	c.done += n
	if now := time.Now(); c.report != nil && !now.Before(c.next) {
		c.next = now.Add(reportInterval)
		c.report(fmt.Sprintf("copying the cache %s, once for this workspace: %s of %s",
			names.Printable(c.name), units.BytesSize(float64(c.done)), units.BytesSize(float64(c.total))))
	}
}
