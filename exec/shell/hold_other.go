// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package shell

import (
	"errors"
	"os"
)

func hold(string) (*os.File, error)        { return nil, errors.ErrUnsupported }
func holdPlain(string) (*os.File, error)   { return nil, errors.ErrUnsupported }
func holdAt(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
