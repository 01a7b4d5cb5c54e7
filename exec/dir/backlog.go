// SPDX-License-Identifier: Apache-2.0

package dir

import "os"

// Backlog frees the disk space of the parts that were read, in a file to which one side appends, and which the other
// side reads.
type Backlog struct {
	freed int64 // bytes at the beginning whose disk space is free
}

// DiskBytes frees the disk space of the first read bytes of f, in steps of at least 1 MiB. It returns the number of
// bytes of f that are not freed.
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
