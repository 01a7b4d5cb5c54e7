// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package shim

import (
	"os"
	"runtime"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

func run([]string, []string) int {
	os.Stderr.WriteString("hostexec: calls are not supported on " + runtime.GOOS + ": the shim runs in Linux containers\n")
	return wire.CodeFailed
}
