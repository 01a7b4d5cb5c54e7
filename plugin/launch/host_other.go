// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package launch

// hasFileCaps is false: file capabilities are Linux's.
func hasFileCaps(string) bool { return false }

// CheckExec has nothing to check: the shim runs in the engine's Linux, not here.
func CheckExec(string) error { return nil }
