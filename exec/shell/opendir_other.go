// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package shell

import (
	"errors"
	"os"
)

func openDir(string) (*os.File, error)        { return nil, errors.ErrUnsupported }
func openDirNoLinks(string) (*os.File, error) { return nil, errors.ErrUnsupported }
func openDirAt(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
