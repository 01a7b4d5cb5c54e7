// SPDX-License-Identifier: Apache-2.0

package dir

// CloexecAll marks every descriptor except 0, 1 and 2, so that no command inherits it. Call it when a process starts:
// it may have inherited descriptors that it does not know.
func CloexecAll() error { return cloexecAll() }
