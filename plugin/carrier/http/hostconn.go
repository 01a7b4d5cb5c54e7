// SPDX-License-Identifier: Apache-2.0

package http

import (
	"net"
)

// hostConn is the host's end of a call. The server tells it why the command may run.
type hostConn struct {
	net.Conn
	carrier string
	asked   bool
	pattern string
}

// OneAnswer returns the name of the carrier. exec/call asks connections for it whose clients get one answer only.
func (c *hostConn) OneAnswer() string { return c.carrier }

// Decided is called by exec/call, before it sends the frames after which these fields are read.
func (c *hostConn) Decided(asked bool, pattern string) { c.asked, c.pattern = asked, pattern }
