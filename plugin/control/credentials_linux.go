// SPDX-License-Identifier: Apache-2.0

//go:build portable

package control

import "golang.org/x/sys/unix"

// credentials says who connected (SO_PEERCRED, unix(7)).
func credentials(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}
