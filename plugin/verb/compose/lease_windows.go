// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"errors"
	"os"
)

var errLeased = errors.New("the session is about to end")

// lease is for systems that have watchers.
func lease(string) (*os.File, error) { return nil, errors.New("sessions are not supported on windows") }
