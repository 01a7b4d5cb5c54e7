// SPDX-License-Identifier: Apache-2.0

package with

import (
	"os"
	"os/exec"
	"syscall"
)

// forwarded are the signals that must not end this process before COMMAND.
var forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM}

// fromKeyboard returns true: the console sends signals to each of its processes, so also to COMMAND.
func fromKeyboard(syscall.Signal) bool { return true }

// status returns the exit code.
func status(exit *exec.ExitError) int { return exit.ExitCode() }
