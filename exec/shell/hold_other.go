// SPDX-License-Identifier: Apache-2.0

//go:build !linux || portable

package shell

import (
	"errors"
	"os"
	"runtime"
)

var errSystem = errors.New("shells that keep state are not supported on " + runtime.GOOS)

func hold(string) (*os.File, error)        { return nil, errSystem }
func holdPlain(string) (*os.File, error)   { return nil, errSystem }
func holdAt(int, string) (*os.File, error) { return nil, errSystem }
