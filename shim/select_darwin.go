// SPDX-License-Identifier: Apache-2.0

package shim

import "syscall"

// bits is what a set of descriptors is made of.
type bits = int32

// choose is select(2).
func choose(n int, in, out *syscall.FdSet, until *syscall.Timeval) error {
	return syscall.Select(n, in, out, nil, until)
}
