// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package container

import "io/fs"

func freeSpace(string) diskFree   { return diskFree{} }
func onDisk(fi fs.FileInfo) int64 { return fi.Size() }
