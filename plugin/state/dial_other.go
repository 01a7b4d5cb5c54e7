// SPDX-License-Identifier: Apache-2.0

//go:build !linux || portable

package state

import (
	"net"
	"path/filepath"
)

// Dial connects to the unix socket name in dir.
func Dial(dir, name string) (*net.UnixConn, error) {
	return net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, name)})
}
