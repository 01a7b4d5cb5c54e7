// SPDX-License-Identifier: Apache-2.0

//go:build unix

package page

import "syscall"

// detached has a session of its own: what ends the terminal does not end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
