// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestIntegrationSandboxOldKernel starts sessions as on kernels that cannot confine programs. Nothing that is to run in
// a sandbox runs.
func TestIntegrationSandboxOldKernel(t *testing.T) {
	needBash(t)
	for errno, why := range map[unix.Errno]string{
		unix.ENOSYS: "its kernel has no Landlock", unix.EOPNOTSUPP: "its kernel was started without Landlock", 0: "its kernel has version 0 of Landlock",
	} {
		t.Run(why, func(t *testing.T) {
			h := newHost(t, false)
			flags := []string{"--proxy", "ssh=/bin/sh,where=sandbox,keep", "--proxy", "hsh=/bin/sh", "--proxy-shell=allow,where=sandbox"}
			args := append([]string{"nolandlock", itoa(int(errno)), "docker"}, h.runArgs(append([]string{"-d"}, h.holding(t, flags)...)...)...)
			r := h.feed(t, "", probePath(t), args...)
			want(t, "run", r.Code, 0)
			c := &Container{Host: h, ID: strings.TrimSpace(r.Out), User: "0"}
			t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", c.ID) })
			want(t, "a command of the host", c.Exec(t, "hsh", "-c", "echo ran").Out, "ran\n")
			want(t, "create", c.Exec(t, "hostexec", "session", "create", "s").Code, 0)
			for _, call := range []string{"ssh -c 'echo ran'", "hostexec -d ssh -c 'echo ran'", "hostexec session exec s -- echo ran"} {
				if r := c.Sh(t, call); r.Code == 0 || strings.Contains(r.Out, "ran") || !strings.Contains(r.Err, why) || !strings.Contains(r.Err, "where=container:IMAGE") {
					t.Errorf("%s: %v", call, r)
				}
			}
		})
	}
}
