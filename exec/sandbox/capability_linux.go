// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// keptCapabilities are the capabilities that root's programs keep, so that root can build in a directory of another
// user. Landlock and MetadataServer limit them to the granted directories.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

// dropCapabilities removes all other capabilities from the calling thread and from what it forks
// (capabilities(7)). For a user who is not root and has none, it changes nothing.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keptCapabilities>>c&1 == 0 {
			// EPERM means that CAP_SETPCAP is missing: then there is no set that could be raised.
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EPERM && err != unix.EINVAL {
				return os.NewSyscallError("prctl", err)
			}
		}
	}
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	data[0].Permitted &= keptCapabilities
	data[0].Effective &= keptCapabilities
	data[0].Inheritable = 0
	data[1] = unix.CapUserData{}
	return os.NewSyscallError("capset", unix.Capset(&header, &data[0]))
}
