// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package plugin

// hasFileCaps is false: file capabilities are Linux's.
func hasFileCaps(string) bool { return false }

// checkExec has nothing to check: the shim runs in the engine's Linux, not here.
func checkExec(string) error { return nil }
