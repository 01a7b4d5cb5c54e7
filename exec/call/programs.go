// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
)

// programs stores the programs that the container cannot change through the current mounts. Reading the files that a
// program loads takes longer than the rest of a decision. The container cannot change such a program later. A program
// that the host has changed is read again. The zero value remembers nothing. No lock is held while a program is read,
// because its file system may not answer.
type programs struct{ checked sync.Map } // of fs.FileInfo, by programKey

// programKey is what a check depends on. dirs has the paths that the container, other sessions or sandboxes can write.
type programKey struct {
	dirs         *mount.Table
	path, search string
}

// checkUnchangeable refuses a program if the container could have written it, its interpreter or one of its
// libraries. search is the PATH of the command.
func (p *programs) checkUnchangeable(path, search string, dirs *mount.Table) error {
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	key := programKey{dirs, path, search}
	if was, ok := p.checked.Load(key); ok && unchanged(was.(fs.FileInfo), fi) {
		return nil
	}
	switch at, ok := hostcode.WritableDependency(path, search, dirs); {
	case !ok:
		p.checked.Store(key, fi)
		return nil
	case at == path:
		return fmt.Errorf("%s could change %s", dirs.Writer(path), strconv.QuoteToASCII(path))
	default:
		return fmt.Errorf("%s could change %s, which %s runs", dirs.Writer(at), strconv.QuoteToASCII(at), strconv.QuoteToASCII(path))
	}
}

func unchanged(was, now fs.FileInfo) bool {
	return os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}
