// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package git

import "io/fs"

// hardLinks returns the number of hard links of the file. It is unknown on this platform; the returned value fails all
// checks.
func hardLinks(fs.FileInfo) uint64 { return 1 << 20 }
