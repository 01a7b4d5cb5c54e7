// SPDX-License-Identifier: Apache-2.0

package devcontainer

import (
	"errors"
	"os"
)

var errLeased = errors.New("the session is about to end")

// lease returns an error: watchers do not run on Windows.
func lease(string) (*os.File, error) { return nil, errors.New("sessions are not supported on windows") }
