// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// unwritten says why nothing runs: a command without its record in the audit log must not run.
func unwritten(err error) string { return "the audit log cannot be written" + fullDisk(err) }

// fullDisk names the directory that has no space left, if err says so. Other errors are for the
// host's log.
func fullDisk(err error) string {
	var at *fs.PathError
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) || !errors.As(err, &at) {
		return ""
	}
	return ": no space left in " + names.Plain(filepath.Dir(at.Path)) + " on the host"
}
