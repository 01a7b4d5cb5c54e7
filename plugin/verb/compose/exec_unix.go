// SPDX-License-Identifier: Apache-2.0

//go:build unix

package compose

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// become makes this process compose: its terminal, signals and status are the person's own,
// and docker's word reaches it as it would without us. files stay open in it, and so locked.
func (c *composeTool) become(args []string, files []*os.File) error {
	for _, f := range files {
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
	}
	err := syscall.Exec(c.path, c.argv(args), c.environ())
	return fmt.Errorf("start docker compose: %w", err)
}
