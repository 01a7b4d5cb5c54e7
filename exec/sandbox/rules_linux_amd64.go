// SPDX-License-Identifier: Apache-2.0

package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// refusedHere lists further refused calls that only this architecture has.
var refusedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS}

func init() {
	parsers[unix.SYS_CHMOD] = func(c *callingThread, a [6]uint64) (change, error) { return c.at(atCWD, a[0], 0, chmod(a[1])) }
	parsers[unix.SYS_CHOWN] = func(c *callingThread, a [6]uint64) (change, error) { return c.at(atCWD, a[0], 0, chown(a[1], a[2])) }
	parsers[unix.SYS_LCHOWN] = func(c *callingThread, a [6]uint64) (change, error) {
		return c.at(atCWD, a[0], unix.AT_SYMLINK_NOFOLLOW, chown(a[1], a[2]))
	}
	parsers[unix.SYS_UTIME] = func(c *callingThread, a [6]uint64) (change, error) {
		t, err := c.seconds(a[1])
		return c.timed(atCWD, a[0], 0, t, err)
	}
	parsers[unix.SYS_UTIMES] = func(c *callingThread, a [6]uint64) (change, error) {
		t, err := c.timevals(a[1])
		return c.timed(atCWD, a[0], 0, t, err)
	}
	parsers[unix.SYS_FUTIMESAT] = func(c *callingThread, a [6]uint64) (change, error) {
		t, err := c.timevals(a[2])
		return c.timed(a[0], a[1], 0, t, err)
	}
}
