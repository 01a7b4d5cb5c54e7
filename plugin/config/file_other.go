// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package config

import "io/fs"

const hasExecBits = false

const noBlock = 0

// checkOwner accepts every file: the permissions of the user's profile protect it.
func checkOwner(string, fs.FileInfo) error { return nil }
