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

// programs remembers the programs that the container cannot change through the current mounts, because
// reading what a program loads takes longer than the rest of a decision. The container cannot change such a
// program later. A program that the host has changed is read again.
type programs struct {
	mu      sync.Mutex // guards the field below
	checked map[[2]string]fs.FileInfo
}

// checkUnchangeable refuses a program if the container could have written it, its interpreter or one of its
// libraries. search is the PATH of the command.
func (p *programs) checkUnchangeable(path, search string, dirs *mount.Table) error {
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{path, search}
	if was, ok := p.checked[key]; ok && unchanged(was, fi) {
		return nil
	}
	switch at, ok := executor.WritableDependency(path, search, dirs); {
	case !ok:
		if p.checked == nil {
			p.checked = map[[2]string]fs.FileInfo{}
		}
		p.checked[key] = fi
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
