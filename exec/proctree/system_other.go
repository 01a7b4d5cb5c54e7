// SPDX-License-Identifier: Apache-2.0

//go:build !linux || portable

package proctree

import (
	"errors"
	"runtime"
)

var errSystem = errors.New("keeping such process trees is not supported on " + runtime.GOOS)
