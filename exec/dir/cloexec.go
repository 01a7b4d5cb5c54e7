// SPDX-License-Identifier: Apache-2.0

package dir

// CloexecAll marks every descriptor but 0, 1 and 2 so that no command inherits it. It
// is for the start of a process, which may have been given more than it knows of.
func CloexecAll() error { return cloexecAll() }
