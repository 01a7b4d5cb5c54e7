// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"os"
	"path/filepath"
)

// Limits are the limits of stored job output of a session, in bytes. Zero means the default.
type Limits struct {
	Output int64 // of one job: stdout and stderr together
	Disk   int64 // of all files of all jobs together
}

const (
	defaultOutput = 64 << 20
	defaultDisk   = 512 << 20
)

// Adjust sets the limits for future output. It removes the oldest ended jobs that exceed the new
// limits.
func (t *Table) Adjust(l Limits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output, t.disk = cmp.Or(l.Output, defaultOutput), cmp.Or(l.Disk, defaultDisk)
	t.removeOldestLocked()
}

func (t *Table) limit() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.output
}

// reserve reserves n more bytes on disk for the running job j, and reports whether they are available. A job
// never gets more than it leaves free, so that space remains for the next job. Ended jobs are removed to
// free space.
func (t *Table) reserve(j *Job, n int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.size+n > t.disk-t.runningBytes-n {
		return false
	}
	j.size += n
	t.runningBytes += n
	t.removeOldestLocked()
	return true
}

// removeOldestLocked removes the oldest ended jobs that exceed the limits. Ended jobs do not change any
// more.
func (t *Table) removeOldestLocked() {
	for len(t.endedJobs) > maxEnded || len(t.endedJobs) > 0 && t.runningBytes+t.endedBytes > t.disk {
		oldest := t.endedJobs[0]
		t.endedJobs = t.endedJobs[1:]
		t.endedBytes -= oldest.size
		delete(t.jobs, oldest.info.ID)
		os.RemoveAll(oldest.dir) // the end of the session removes the rest
	}
}

// sizeOf returns the total size of the output files in dir.
func sizeOf(dir string) (n int64) {
	for _, name := range []string{stdoutFile, stderrFile, combinedFile} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			n += fi.Size()
		}
	}
	return n
}
