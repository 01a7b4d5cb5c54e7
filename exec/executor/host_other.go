// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package executor

import (
	"context"
	"errors"
	"runtime"
)

var errSystem = errors.New("running host commands is not supported on " + runtime.GOOS)

type host struct{}

func (h *Host) open() error  { return errSystem }
func (h *Host) close() error { return nil }

func (h *Host) runIn(context.Context, Backend, Command, Streams) (Status, error) {
	return Status{}, errSystem
}

func (h *Host) run(context.Context, Command, Streams) (Status, error) { return Status{}, errSystem }
