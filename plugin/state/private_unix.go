// SPDX-License-Identifier: Apache-2.0

//go:build unix

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openFlags are flags for an open that follows no link, does not block, and gets no controlling terminal.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY

// ProcessAlive reports whether process pid exists, of any user.
func ProcessAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}

// CheckPrivate refuses a state directory that belongs to another user or is writable by others, because
// its content controls which commands run.
func CheckPrivate(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at state directory: %w", err)
	}
	_, err = checkMode(dir, fi)
	return err
}

// makePrivate is like CheckPrivate, and also removes read permission for others.
func makePrivate(dir string) error {
	d, err := os.Open(dir) // so that no other directory is changed than the checked one
	if errors.Is(err, fs.ErrPermission) {
		return CheckPrivate(dir)
	}
	if err != nil {
		return fmt.Errorf("look at state directory: %w", err)
	}
	defer d.Close()
	fi, err := d.Stat()
	if err != nil {
		return fmt.Errorf("look at state directory: %w", err)
	}
	perm, err := checkMode(dir, fi)
	if err != nil || perm == 0o700 {
		return err
	}
	if err := d.Chmod(0o700); err != nil {
		return fmt.Errorf("make state directory private: %w", err)
	}
	return nil
}

func checkMode(dir string, fi fs.FileInfo) (fs.FileMode, error) {
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
