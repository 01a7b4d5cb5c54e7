// SPDX-License-Identifier: Apache-2.0

//go:build unix

package state

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ProcessAlive reports whether there is a process pid, of whomever.
func ProcessAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}

// CheckPrivate refuses a state directory that another user made or may write: what lies in
// it decides what runs here.
func CheckPrivate(dir string) error {
	_, err := mode(dir)
	return err
}

// private is CheckPrivate, and keeps others from reading too.
func private(dir string) error {
	perm, err := mode(dir)
	if err != nil || perm == 0o700 {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("make state directory private: %w", err)
	}
	return nil
}

func mode(dir string) (fs.FileMode, error) {
	fi, err := os.Stat(dir)
	if err != nil {
		return 0, fmt.Errorf("look at state directory: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("look at state directory %s: no owner", dir)
	}
	if uid := os.Geteuid(); int(st.Uid) != uid {
		return 0, &NotPrivateError{fmt.Sprintf("state directory %s belongs to uid %d, not to you (uid %d)", dir, st.Uid, uid), "set HOSTEXEC_HOME to a directory of your own"}
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return 0, &NotPrivateError{fmt.Sprintf("state directory %s may be written by others", dir), "chmod 700 " + dir}
	}
	return fi.Mode().Perm(), nil
}
