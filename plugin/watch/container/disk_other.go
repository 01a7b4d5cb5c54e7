// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package container

// holds is for engines that are here, and no watcher is.
func holds(_, _ string) bool { return false }
