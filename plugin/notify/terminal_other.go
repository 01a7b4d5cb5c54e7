// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package notify

// Here returns no terminal: sessions are not supported on this system.
func Here() Terminal { return Terminal{} }

// Open returns false.
func (t Terminal) Open() bool { return false }

// Ring does nothing.
func (t Terminal) Ring() {}
