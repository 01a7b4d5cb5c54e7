// SPDX-License-Identifier: Apache-2.0

package shim

import "syscall"

// What the ioctls are called that read and write a terminal's settings.
const (
	getTermios = syscall.TCGETS
	setTermios = syscall.TCSETS
)
