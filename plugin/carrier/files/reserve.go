// SPDX-License-Identifier: Apache-2.0

package files

import (
	"os"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// reserveSize is the size of the disk space that is reserved for the ends of calls.
const reserveSize = 64 << 10

// reserve is reserved space on the disk of a directory of requests. When the disk is full, the space is used
// for the files that report this to callers. Its zero value reserves nothing.
type reserve struct {
	mu sync.Mutex // guards the field below
	f  *os.File   // without a name; nil: nothing is reserved
}

// fill reserves space below d, if none is reserved. Some file systems cannot do that.
func (r *reserve) fill(d *dir.UntrustedDir) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f == nil {
		r.f, _ = d.Reserve(reserveSize) // without it, a full disk leaves callers without a reason
	}
}

// release gives the space back to the disk, and reports whether there was any. A nil reserve has none.
func (r *reserve) release() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f == nil {
		return false
	}
	r.f.Close()
	r.f = nil
	return true
}

// noSpace reports a full disk to the log, makes room for the end of the call, and returns the reason for its caller.
func (l *Listener) noSpace() string {
	l.reserve.release()
	l.log.Error("the answer of a call cannot be written: no space left", "directory", l.path)
	return "the answer cannot be written: no space left in " + names.Quoted(l.path) + " on the host"
}
