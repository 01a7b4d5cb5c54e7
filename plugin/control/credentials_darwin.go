// SPDX-License-Identifier: Apache-2.0

package control

import "golang.org/x/sys/unix"

// credentials says who connected (unix(4): LOCAL_PEERCRED, LOCAL_PEERPID).
func credentials(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return int(cred.Uid), pid, err
}
