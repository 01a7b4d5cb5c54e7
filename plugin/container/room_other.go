// SPDX-License-Identifier: Apache-2.0

//go:build !linux || portable

package container

import (
	"context"
	"errors"
	"runtime"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// Enter implements executor.Room.
func (r *Runner) Enter(context.Context, executor.Command, [3]int, *executor.Winsize) (executor.Guest, error) {
	return nil, errors.New("running commands in containers is not supported on " + runtime.GOOS)
}
