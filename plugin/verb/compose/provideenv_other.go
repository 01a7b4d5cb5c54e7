// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package compose

import (
	"errors"
	"runtime"
)

// BeginAnew is for systems that have watchers.
func BeginAnew([]string) error {
	return errors.New("sessions are not supported on " + runtime.GOOS)
}
