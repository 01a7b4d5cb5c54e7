// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package shell

import "os"

func full(*os.File) error { return nil }
