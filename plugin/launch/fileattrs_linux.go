// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// hasFileCaps reports whether executing path would raise capabilities.
func hasFileCaps(path string) bool {
	n, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil && n > 0
}

// CheckExec refuses a state directory on a file system that does not allow execution. The container's mount of the
// share would not allow execution either, and the shim is in the share.
func CheckExec(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("look at the file system of %s: %w", dir, err)
	}
	if st.Flags&unix.ST_NOEXEC != 0 {
		return cli.Hint(fmt.Errorf("state directory %s is on a file system mounted noexec, so the shim in it could not run", dir),
			"set HOSTEXEC_HOME to a directory of yours elsewhere")
	}
	return nil
}
