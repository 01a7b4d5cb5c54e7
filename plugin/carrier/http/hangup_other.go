// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package http

import (
	"net"
)

// hungUp takes an end that has no more to say for one that is closed.
func hungUp(net.Conn) bool { return true }

// closedForWriting is for systems that have connections of that kind.
func closedForWriting(net.Conn) bool { return true }
