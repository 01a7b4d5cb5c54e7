// SPDX-License-Identifier: Apache-2.0

//go:build unix

package apiproxy

import (
	"os"
	"path/filepath"
	"syscall"
)

// runtimeDir returns the user's runtime directory, if there is one that only this user can use.
func runtimeDir() (dir string, ok bool) {
	dir = os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		return "", false
	}
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || fi.Mode().Perm() != 0o700 {
		return "", false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return filepath.Clean(dir), ok && int(st.Uid) == os.Geteuid()
}
