// SPDX-License-Identifier: Apache-2.0

//go:build unix

package page

import "syscall"

// detached gives the process its own session, so that the end of the terminal does not end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
