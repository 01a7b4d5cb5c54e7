// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package state

// CheckPrivate accepts every directory, like makePrivate.
func CheckPrivate(string) error { return nil }

// makePrivate does nothing: the permissions of the user's profile protect the directory.
func makePrivate(string) error { return nil }

const openFlags = 0

// ProcessAlive returns false: the state of processes is unknown on this system.
func ProcessAlive(int) bool { return false }
