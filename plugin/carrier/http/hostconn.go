// SPDX-License-Identifier: Apache-2.0

package http

import (
	"net"
)

// hostConn is the host's end of a call. The server reports to it why the command may run.
type hostConn struct {
	net.Conn
	carrier string
	asked   bool
	pattern string
}

// NonStreamingCarrier returns the name of the carrier. exec/call calls it on connections whose clients get a single
// answer.
func (c *hostConn) NonStreamingCarrier() string { return c.carrier }

// Decided is called by exec/call, before it sends the frames after which these fields are read.
func (c *hostConn) Decided(asked bool, pattern string) { c.asked, c.pattern = asked, pattern }
