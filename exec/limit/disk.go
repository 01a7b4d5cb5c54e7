// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"errors"
	"syscall"
)

// DiskFull reports whether a write failed because a disk, or a quota on it, is full.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
