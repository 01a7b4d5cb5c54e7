// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package call

import (
	"errors"
	"runtime"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// checkFD refuses all descriptors: a container can pass one to the host only if both have the same kernel.
func checkFD(int, int, wire.FD) error {
	return errors.New("passing descriptors is not supported on " + runtime.GOOS)
}

func closeAll([]int) {}
