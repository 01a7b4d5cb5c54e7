// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package control

import (
	"net"
	"os"
)

// peerOf relies on the mode of the socket and of the folder that it is in.
func peerOf(*net.UnixConn) (p peer, ok bool) { return peer{uid: os.Geteuid()}, true }

// atHome relies on the same.
func atHome(*net.UnixConn, peer) bool { return true }
