// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package launch

// hasFileCaps returns false: only Linux has file capabilities.
func hasFileCaps(string) bool { return false }

// CheckExec checks nothing: the shim runs in the engine's Linux, not here.
func CheckExec(string) error { return nil }
