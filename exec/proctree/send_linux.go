// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package proctree

import "golang.org/x/sys/unix"

// send signals m and nothing else: a pidfd is bound to one process, and the start time
// says that it is m.
func (e *ending) send(m member, sig unix.Signal) {
	fd, err := unix.PidfdOpen(m.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if st, ok := readStat(m.pid); !ok || st.start != m.start || !st.alive() {
		return
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else {
		err = unix.Kill(m.pid, sig)
	}
	if err == unix.EPERM {
		e.beyond[m] = true
	}
}
