// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// setLimits limits the memory and the CPU time of process pid, and of processes that it starts later. Mapped files of
// the mirror do not count as memory.
func setLimits(pid int, cpu time.Duration) error {
	for resource, most := range map[int]uint64{unix.RLIMIT_DATA: maxData, unix.RLIMIT_CPU: uint64(cpu.Seconds())} {
		err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) { // it may have ended
			return err
		}
	}
	return nil
}
