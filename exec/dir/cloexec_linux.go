// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func cloexecAll() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	return cloexecListed() // Linux 5.10 has close_range, the flag came with 5.11
}

func cloexecListed() error {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd) // the descriptor of the list itself is closed already
		}
	}
	return nil
}
