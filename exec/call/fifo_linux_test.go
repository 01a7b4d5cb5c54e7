// SPDX-License-Identifier: Apache-2.0

package call

import "golang.org/x/sys/unix"

func MakeFIFO(path string) error { return unix.Mkfifo(path, 0o600) }
