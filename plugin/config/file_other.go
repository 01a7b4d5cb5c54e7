// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package config

import "io/fs"

const executable = false

const noBlock = 0

// trustworthy trusts the permissions of the user's profile, where the files lie.
func trustworthy(fs.FileInfo) error { return nil }
