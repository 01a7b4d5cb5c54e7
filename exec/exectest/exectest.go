// SPDX-License-Identifier: Apache-2.0

// Package exectest has helpers for the tests of several packages. Most of them work only on Linux.
package exectest

// Scaled returns n, or underRace if the race detector is on. It is for the amount of work of a test: with the race
// detector, the work takes ten times as long.
func Scaled(n, underRace int) int {
	if race {
		return underRace
	}
	return n
}
