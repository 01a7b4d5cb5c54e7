// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package socket

import (
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"runtime"
)

// Listen fails: a socket can be used in a container only if host and container share a kernel.
func Listen(string) (net.Listener, error) {
	return nil, errors.New("the socket carrier is not supported on " + runtime.GOOS)
}

// Bind listens on the unix socket name in dir.
func Bind(dir, name string, _ fs.FileMode) (*net.UnixListener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, name)})
}
