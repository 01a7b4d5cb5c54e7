// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package audit

import (
	"io/fs"
	"os"
)

// No watcher runs on this platform, so logs are only read.

const (
	noFollow = 0
	nonBlock = 0
)

func lock(*os.File) error       { return nil }
func lockShared(*os.File) error { return nil }
func unlock(*os.File) error     { return nil }
func owned(fs.FileInfo) error   { return nil }
func syncDir(string) error      { return nil }
