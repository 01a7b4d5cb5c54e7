// SPDX-License-Identifier: Apache-2.0

//go:build unix

package git

import (
	"io/fs"
	"syscall"
)

// hardLinks returns the number of hard links of the file.
func hardLinks(f fs.FileInfo) uint64 {
	if st, ok := f.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1 << 20
}
