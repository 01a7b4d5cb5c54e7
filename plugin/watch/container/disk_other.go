// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package container

// holdsDisk is for engines that are here, and no watcher is.
func holdsDisk(_, _ string) bool { return false }
