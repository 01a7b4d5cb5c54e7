// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package control

import (
	"net"
	"os"
)

// peerOf returns our own uid: the modes of the socket and its directory keep other users out.
func peerOf(*net.UnixConn) (p peer, ok bool) { return peer{uid: os.Geteuid()}, true }

// inOurNamespaces returns true, for the same reason.
func inOurNamespaces(*net.UnixConn, peer) bool { return true }
