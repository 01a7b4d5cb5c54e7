// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package http

import (
	"net"
)

// hungUp reports true: a connection that is closed for writing counts as closed here.
func hungUp(net.Conn) bool { return true }

// closedForWriting reports true, as hungUp.
func closedForWriting(net.Conn) bool { return true }
