// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"os"
	"path/filepath"
)

// Limits are how much is kept of what the jobs of a session write, in bytes. What is 0 is
// the default.
type Limits struct {
	Output int64 // of one job: stdout and stderr together
	Disk   int64 // of all together, in all their files
}

const (
	DefaultOutput = 64 << 20
	DefaultDisk   = 512 << 20
)

// Adjust sets what is kept from now on. Of what there is the oldest jobs go that have ended
// and are too much.
func (t *Table) Adjust(l Limits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output, t.disk = cmp.Or(l.Output, DefaultOutput), cmp.Or(l.Disk, DefaultDisk)
	t.forgetLocked()
}

// limit is how much is kept of what one job writes.
func (t *Table) limit() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.output
}

// take takes room on disk for n bytes more of j, which runs, and reports whether there is
// any. No job gets more than it leaves free: so there is always some for the next one. Jobs
// that have ended make room.
func (t *Table) take(j *Job, n int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.size+n > t.disk-t.live-n {
		return false
	}
	j.size += n
	t.live += n
	t.forgetLocked()
	return true
}

// forgetLocked removes what is more than is kept of jobs that have ended. What they are is
// not changed any more.
func (t *Table) forgetLocked() {
	for len(t.past) > MaxEnded || len(t.past) > 0 && t.live+t.kept > t.disk {
		oldest := t.past[0]
		t.past = t.past[1:]
		t.kept -= oldest.size
		delete(t.jobs, oldest.info.ID)
		os.RemoveAll(oldest.dir) // what is left goes with the session
	}
}

// sizeOf is how much the files in dir hold that a job's output went to.
func sizeOf(dir string) (n int64) {
	for _, name := range []string{stdoutFile, stderrFile, combinedFile} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			n += fi.Size()
		}
	}
	return n
}
