// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"os"

	"golang.org/x/sys/unix"
)

// punchHole frees the disk space of n bytes of f at off, and reports whether that succeeded. The size of f stays the
// same, and the bytes become zeros.
func punchHole(f *os.File, off, n int64) bool {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n) == nil
}
