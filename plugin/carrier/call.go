// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"errors"
	"net"
	"sync"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// ErrGone means that the host closed a call without its exit status.
var ErrGone = errors.New("the host's side of this call has gone")

// Failed returns the end of a call that hostexec itself could not serve, with the reason.
func Failed(why string) wire.Exit {
	return wire.Exit{Outcome: wire.Failed, Code: wire.CodeFailed, Text: "hostexec: " + why + "\n"}
}

// Call is the caller's end of a call that a carrier makes for a caller without a shim: frames over a pipe in
// this process.
type Call struct {
	conn net.Conn
	mu   sync.Mutex // guards writing to conn
}

// NewCall returns a call, and the host's end of it, for the server of calls.
func NewCall() (c *Call, host net.Conn) {
	caller, host := net.Pipe()
	return &Call{conn: caller}, host
}

// Send writes a frame. Send the Exec while Follow reads: the host may refuse an Exec before it has read the whole
// frame.
func (c *Call) Send(kind wire.Kind, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.conn.Write(wire.AppendFrame(nil, kind, payload))
	return err
}

// Close hangs up, which ends the command with its process tree.
func (c *Call) Close() error { return c.conn.Close() }

// Receiver receives the answers to a call.
type Receiver interface {
	// Output receives a part of the command's output to one stream, KindStdout or KindStderr.
	Output(stream wire.Kind, b []byte) error
	// Event receives all other frames except Exit.
	Event(kind wire.Kind, payload []byte) error
}

// Follow passes the host's frames to r until the call ends. It allows the host as much output as r has taken. The error
// is one of r's, or ErrGone.
func (c *Call) Follow(r Receiver) (wire.Exit, error) {
	buf := make([]byte, 0, 4<<10)
	taken := 0 // bytes of output since the last credit
	for {
		kind, b, err := wire.ReadFrame(c.conn, buf)
		if err != nil {
			return wire.Exit{}, ErrGone
		}
		if cap(b) > cap(buf) {
			buf = b[:0] // large frames are followed by others
		}
		switch kind {
		case wire.KindExit:
			e, err := wire.ParseExit(b)
			if err != nil {
				return wire.Exit{}, ErrGone
			}
			return e, nil
		case wire.KindStdout, wire.KindStderr:
			if err := r.Output(kind, b); err != nil {
				return wire.Exit{}, err
			}
			if taken += len(b); taken < wire.Window/4 {
				continue
			}
			if c.Send(wire.KindCredit, wire.AppendCredit(nil, uint32(taken))) != nil {
				return wire.Exit{}, ErrGone
			}
			taken = 0
		default:
			if err := r.Event(kind, b); err != nil {
				return wire.Exit{}, err
			}
		}
	}
}
