// SPDX-License-Identifier: Apache-2.0

package executor

import "golang.org/x/sys/unix"

// inQueue asks how many bytes are there to be read (ioctl_tty(2), pipe(7)).
const inQueue = unix.TIOCINQ
