// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package notify

// CurrentTerminal returns no terminal: sessions are not supported on this system.
func CurrentTerminal() Terminal { return Terminal{} }

// IsOpen returns false.
func (t Terminal) IsOpen() bool { return false }

// Bell does nothing.
func (t Terminal) Bell() {}

// Say does nothing.
func (t Terminal) Say(string) {}
