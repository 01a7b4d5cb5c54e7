// SPDX-License-Identifier: Apache-2.0

package http

import (
	"net"
)

// callerConn is the caller's end of a call, which hears why the call's command runs.
type callerConn struct {
	net.Conn
	carrier string
	asked   bool
	pattern string
}

// OneAnswer implements what exec/call asks.
func (c *callerConn) OneAnswer() string { return c.carrier }

// Decided implements what exec/call tells. What it writes is read behind a later frame.
func (c *callerConn) Decided(asked bool, pattern string) { c.asked, c.pattern = asked, pattern }
