// SPDX-License-Identifier: Apache-2.0

package page

import "syscall"

// detached gives the process its own process group, and no console.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | 0x8} // DETACHED_PROCESS
}
