// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

const hasExecBits = true // the file mode says whether a file is executable

const noBlock = syscall.O_NONBLOCK | syscall.O_NOCTTY // so that open does not block on a pipe or a terminal

// checkOwner returns an error if users other than the current user and root can have written the file fi at path. The
// error is without path.
func checkOwner(path string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("no owner")
	}
	if uid := os.Geteuid(); int(st.Uid) != uid && st.Uid != 0 {
		return fmt.Errorf("belongs to uid %d, not to you (uid %d)", st.Uid, uid)
	}
	if fi.Mode().Perm()&0o022 != 0 && fi.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("may be written by others: chmod go-w %s", policy.CommandLine([]string{path}))
	}
	return nil
}
