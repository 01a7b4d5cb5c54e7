// SPDX-License-Identifier: Apache-2.0

//go:build unix

package page

import "syscall"

// detached makes the process call setsid(2), so that the end of the terminal does not end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
