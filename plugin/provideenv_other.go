// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package plugin

import (
	"errors"
	"runtime"
)

// beginAnew is for systems that have watchers.
func beginAnew([]string) error {
	return errors.New("sessions are not supported on " + runtime.GOOS)
}
