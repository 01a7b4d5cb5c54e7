// SPDX-License-Identifier: Apache-2.0

//go:build !linux || portable

package dir

import (
	"errors"
	"runtime"
)

var errSystem = errors.New("holding directories is not supported on " + runtime.GOOS)
