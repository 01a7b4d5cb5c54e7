// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package http

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
)

// listenOn fails: the bridges of containers are not on this system.
func listenOn(string, netip.AddrPort) (net.Listener, error) {
	return nil, errors.New("the http carrier is not supported on " + runtime.GOOS)
}
