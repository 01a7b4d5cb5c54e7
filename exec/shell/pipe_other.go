// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package shell

import (
	"errors"
	"os"
)

const nonblocking = 0

func mkfifo(string) error          { return errors.ErrUnsupported }
func queued(*os.File) (int, error) { return 0, errors.ErrUnsupported }
