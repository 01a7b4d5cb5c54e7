// SPDX-License-Identifier: Apache-2.0

package dir

import "os"

// Backlog counts the unread bytes of a file to which one side appends, and which the other side reads. It frees the
// disk space of the parts that were read.
type Backlog struct {
	freed int64 // bytes at the beginning whose disk space is free
}

// DiskBytes returns the number of bytes of f that occupy the disk. read is the number of bytes that were read.
func (b *Backlog) DiskBytes(f *os.File, read int64) (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	const least = 1 << 20
	if read-b.freed >= least && punchHole(f, b.freed, read-b.freed) {
		b.freed = read
	}
	return max(0, fi.Size()-b.freed), nil
}
