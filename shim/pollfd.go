// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

// pollFD is struct pollfd.
type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

const (
	pollIn  = 1
	pollOut = 4
)
