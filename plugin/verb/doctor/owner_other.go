// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package doctor

// ownerOf returns -1: a socket on this system leads into the engine's virtual machine.
func ownerOf(string) int { return -1 }
