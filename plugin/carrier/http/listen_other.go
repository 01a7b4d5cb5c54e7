// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package http

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
)

// listenOn fails: the bridge of a container is not on this system.
func listenOn(string, netip.AddrPort) (net.Listener, error) {
	return nil, errors.New("the http carrier is not supported on " + runtime.GOOS)
}

// hungUp takes an end that has no more to say for one that is closed.
func hungUp(net.Conn) bool { return true }

// closedForWriting is for systems that have connections of that kind.
func closedForWriting(net.Conn) bool { return true }
