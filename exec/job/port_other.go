// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package job

// listens is called only on platforms that run commands.
func listens(string, int, uint16) bool { return false }
