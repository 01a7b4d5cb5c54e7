// SPDX-License-Identifier: Apache-2.0

package with

import (
	"os"
	"os/exec"
	"syscall"
)

// forwarded are the signals of which this process must not die before COMMAND.
var forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM}

// fromKeyboard reports whether the console sends sig to COMMAND too. It sends it to each of its processes.
func fromKeyboard(syscall.Signal) bool { return true }

// status returns the exit code.
func status(exit *exec.ExitError) int { return exit.ExitCode() }
