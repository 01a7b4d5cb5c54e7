// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package config

import "io/fs"

const executable = false

const noBlock = 0

// trustworthy accepts every file: the permissions of the user's profile protect it.
func trustworthy(fs.FileInfo) error { return nil }
