// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"os"

	"golang.org/x/sys/unix"
)

// punchHole gives n bytes of f at off back to the disk, and reports whether it could. They read as
// zeros then, and f is as long as before.
func punchHole(f *os.File, off, n int64) bool {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n) == nil
}
