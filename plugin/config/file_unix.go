// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const executable = true // files have a mode that says so

const noBlock = syscall.O_NONBLOCK | syscall.O_NOCTTY // a pipe or a terminal in its place must not hold us

// trustworthy refuses a file that others than the user and root can have written.
func trustworthy(fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("no owner")
	}
	if uid := os.Geteuid(); int(st.Uid) != uid && st.Uid != 0 {
		return fmt.Errorf("belongs to uid %d, not to you (uid %d)", st.Uid, uid)
	}
	if fi.Mode().Perm()&0o022 != 0 && fi.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("may be written by others: chmod go-w %s", fi.Name())
	}
	return nil
}
