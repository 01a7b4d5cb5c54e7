// SPDX-License-Identifier: Apache-2.0

//go:build portable

package shim

import "syscall"

// bits is what a set of descriptors is made of.
type bits = int64

// choose is select(2).
func choose(n int, in, out *syscall.FdSet, until *syscall.Timeval) error {
	_, err := syscall.Select(n, in, out, nil, until)
	return err
}
