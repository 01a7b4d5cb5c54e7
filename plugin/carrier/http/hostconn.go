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

// Decided stores how the call was decided. exec/call calls it before it sends the frames that report the result.
func (c *hostConn) Decided(asked bool, pattern string) { c.asked, c.pattern = asked, pattern }
