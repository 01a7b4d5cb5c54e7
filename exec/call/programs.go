// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
)

// programs remembers which programs the container cannot change, by a scene's mounts: to read
// what a program loads takes longer than all the rest of a decision. The container cannot
// change such a program later; one that the host has changed is read again.
type programs struct {
	mu    sync.Mutex // guards the field below
	clean map[[2]string]fs.FileInfo
}

// own refuses a program that the container could have written, or of which it could have
// written the interpreter or a library. search is the PATH that the program has.
func (p *programs) own(path, search string, dirs *mount.Table) error {
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{path, search}
	if was, ok := p.clean[key]; ok && unchanged(was, fi) {
		return nil
	}
	switch at, ok := executor.WritableDependency(path, search, dirs); {
	case !ok:
		if p.clean == nil {
			p.clean = map[[2]string]fs.FileInfo{}
		}
		p.clean[key] = fi
		return nil
	case at == path:
		return fmt.Errorf("the container could change %s", strconv.QuoteToASCII(path))
	default:
		return fmt.Errorf("the container could change %s, which %s runs", strconv.QuoteToASCII(at), strconv.QuoteToASCII(path))
	}
}

func unchanged(was, now fs.FileInfo) bool {
	return os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}
