// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package apiproxy

// runtimeDir returns false: the system has no runtime directories.
func runtimeDir() (dir string, ok bool) { return "", false }
