// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package watch

import "io/fs"

func freeOn(string) free          { return free{} }
func onDisk(fi fs.FileInfo) int64 { return fi.Size() }
