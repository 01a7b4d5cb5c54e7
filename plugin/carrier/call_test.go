// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"errors"
	"net"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// receiver keeps what it gets, and fails at the stream broken.
type receiver struct {
	out, err []byte
	events   []wire.Kind
	broken   wire.Kind
}

var errBroken = errors.New("broken")

func (r *receiver) Output(stream wire.Kind, b []byte) error {
	switch stream {
	case r.broken:
		return errBroken
	case wire.KindStdout:
		r.out = append(r.out, b...)
	default:
		r.err = append(r.err, b...)
	}
	return nil
}

func (r *receiver) Event(kind wire.Kind, _ []byte) error {
	r.events = append(r.events, kind)
	return nil
}

// TestFollow checks a host that answers a call, and each way in which a host can disappear.
func TestFollow(t *testing.T) {
	say := func(host net.Conn, kind wire.Kind, payload []byte) { host.Write(wire.AppendFrame(nil, kind, payload)) }
	exit := wire.Exit{Outcome: wire.Exited, Code: 7}
	for _, tt := range []struct {
		name   string
		broken wire.Kind
		serve  func(host net.Conn)
		err    error
	}{
		{"an answer", 0, func(host net.Conn) {
			say(host, wire.KindStarted, nil)
			say(host, wire.KindStdout, []byte("out"))
			say(host, wire.KindStderr, []byte("err"))
			say(host, wire.KindExit, exit.Append(nil))
		}, nil},
		{"no Exit", 0, func(host net.Conn) { say(host, wire.KindStdout, []byte("out")) }, ErrGone},
		{"half a frame", 0, func(host net.Conn) { host.Write(wire.AppendHeader(nil, wire.KindStdout, 100)) }, ErrGone},
		{"an Exit without contents", 0, func(host net.Conn) { say(host, wire.KindExit, nil) }, ErrGone},
		{"a receiver that fails", wire.KindStderr, func(host net.Conn) { say(host, wire.KindStderr, []byte("err")) }, errBroken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, host := NewCall()
			defer c.Close()
			// ends with the table's function; the receiver reads all that it sends.
			go func() { defer host.Close(); tt.serve(host) }()
			r := &receiver{broken: tt.broken}
			got, err := c.Follow(r)
			if err != tt.err || err == nil && (got != exit || string(r.out) != "out" || string(r.err) != "err" || len(r.events) != 1 || r.events[0] != wire.KindStarted) {
				t.Errorf("Follow = %+v, %v, want %v; %+v", got, err, tt.err, r)
			}
		})
	}
}

// TestFollowCredit checks that a host sends no more than its credit.
func TestFollowCredit(t *testing.T) {
	c, host := NewCall()
	defer c.Close()
	ended := make(chan error, 1)
	// ends when host is closed.
	go func() {
		_, err := c.Follow(&receiver{})
		ended <- err
	}()
	part := make([]byte, wire.Window/4)
	for range 8 { // twice the window
		if _, err := host.Write(wire.AppendFrame(nil, wire.KindStdout, part)); err != nil {
			t.Fatal(err)
		}
		kind, b, err := wire.ReadFrame(host, nil)
		if n, perr := wire.ParseCredit(b); kind != wire.KindCredit || n != uint32(len(part)) || err != nil || perr != nil {
			t.Fatalf("the host gets %v %d, %v, %v, want credit for %d bytes", kind, n, err, perr, len(part))
		}
	}
	host.Close()
	if err := <-ended; err != ErrGone {
		t.Errorf("Follow = %v, want %v", err, ErrGone)
	}
}
