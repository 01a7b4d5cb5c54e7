// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package control

// startedByCall returns false: sessions run on Linux only.
func startedByCall(int) bool { return false }

// suspended returns false: the state of a process is unknown on this system.
func suspended(int) bool { return false }
