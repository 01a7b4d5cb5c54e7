// SPDX-License-Identifier: Apache-2.0

package call

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/dir"
)

const (
	// maxCopy is the maximum size of an operand that is copied.
	maxCopy = 64 << 20
	// maxCopies is the maximum size of all copies of a session at a time. Otherwise a container could
	// fill the host's disk.
	maxCopies = 4 * maxCopy
)

// copies is the directory with the copies of one request, and their share of the session's limit.
type copies struct {
	dir     string
	sums    hash.Hash // of what was copied
	size    int64
	session *atomic.Int64
}

// copiesDir returns the directory with the copies of the operands of dc, or "".
func (dc *decidedCall) copiesDir() string {
	if dc.copies == nil {
		return ""
	}
	return dc.copies.dir
}

// copiedNames returns the caller's words for the arguments that are copies, by index, or nil if there are none.
func (dc *decidedCall) copiedNames() map[int]string {
	if len(dc.copied) == 0 {
		return nil
	}
	all := map[int]string{}
	for n, c := range dc.copied {
		all[n] = c.Name
	}
	return all
}

// named returns the arguments as lists show them, with the caller's words in place of copies. Only START records have
// the paths of the copies.
func (dc *decidedCall) named() []string {
	q := approval.Question{Args: dc.v.Args, Copied: dc.copiedNames()}
	return q.Named()
}

// remove removes the copies. A second call does nothing.
func (c *copies) remove() {
	if c == nil || c.dir == "" {
		return
	}
	os.RemoveAll(c.dir) // only this process writes there
	c.session.Add(-c.size)
	c.dir, c.size = "", 0
}

// reserve takes n bytes of the session's limit.
func (c *copies) reserve(n int64) error {
	if n > maxCopy {
		return fmt.Errorf("it has more than %d MiB, the limit of a copy: with snapshot: false in the rule the command opens the file itself", maxCopy>>20)
	}
	c.size += n
	if c.session.Add(n) > maxCopies {
		return fmt.Errorf("the copies of this session would have more than %d MiB: wait for other calls to end", maxCopies>>20)
	}
	return nil
}

// settle names the directory after its content, so that the same call with the same files has the same
// arguments, which a grant can name. If the name is taken it appends a number: copies are never shared.
func (c *copies) settle() {
	name := filepath.Join(filepath.Dir(c.dir), hex.EncodeToString(c.sums.Sum(nil)[:16]))
	for i := range maxSame {
		at := name
		if i > 0 {
			at += "-" + strconv.Itoa(i)
		}
		if os.Rename(c.dir, at) == nil { // fails if at is a directory that is not empty
			c.dir = at
			return
		}
	}
}

// maxSame is the maximum number of directories at a time that are named after the same content. Further ones keep the
// id of their request as their name.
const maxSame = 16

// snapshot copies f, and returns the path of the copy below the directory of copies, and its SHA-256. The
// copy keeps the file's name, which programs use.
func (dc *decidedCall) snapshot(request string, index int, f *dir.File) (name, sum string, err error) {
	if dc.copies == nil {
		dc.copies = &copies{dir: filepath.Join(dc.config.Scratch, request), sums: sha256.New(), session: &dc.server.copied}
	}
	name = filepath.Join(strconv.Itoa(index), f.Name())
	if err := os.MkdirAll(filepath.Join(dc.copies.dir, filepath.Dir(name)), 0o700); err != nil {
		return "", "", err
	}
	src, err := f.Open()
	if err != nil {
		return "", "", err
	}
	defer src.Close()
	fi, err := src.Stat()
	if err != nil {
		return "", "", err
	}
	if err := dc.copies.reserve(fi.Size()); err != nil {
		return "", "", err
	}
	sum, err = copyTo(filepath.Join(dc.copies.dir, name), src, fi.Size())
	fmt.Fprintf(dc.copies.sums, "%q %s\n", name, sum)
	return name, sum, err
}

// copyTo creates the file name with the content of src, at most n bytes, and returns its SHA-256.
func copyTo(name string, src io.Reader, n int64) (sum string, err error) {
	dst, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	defer dst.Close()
	h := sha256.New()
	copied, err := io.Copy(io.MultiWriter(dst, h), io.LimitReader(src, n+1))
	if err == nil && copied > n {
		err = errors.New("it grows")
	}
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, dst.Close())
}
