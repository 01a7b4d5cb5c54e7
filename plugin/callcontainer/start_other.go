// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package callcontainer

import (
	"context"
	"errors"
	"runtime"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

func (r *Runner) Start(context.Context, executor.Command, [3]int, *executor.Winsize) (executor.BackendCommand, error) {
	return nil, errors.New("running commands in containers is not supported on " + runtime.GOOS)
}
