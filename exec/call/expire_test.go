// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestExpire ends the call of a caller that reads all, takes no output, or reads nothing. It gets the output that it
// takes, and the end of the call: later if it reads later.
//
// Attack 167.
func TestExpire(t *testing.T) {
	const size = 3 * wire.Window
	for _, tt := range []struct {
		name         string
		reads, takes bool
		output       int
		most         time.Duration
	}{
		{"reads", true, true, size, 0},
		{"takes no output", true, false, wire.Window, 3 * time.Second},
		{"reads no frames", false, false, wire.MaxFrame, 2 * sendTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				p := newPeer(theirs)
				p.start(func(error) {}, false)
				written, answered := make(chan error, 1), make(chan error, 1)
				// ends when the caller has taken it, or by expire.
				go func() {
					_, err := p.writer(wire.KindStdout).Write(make([]byte, size))
					written <- err
				}()
				caller := &stalledCaller{conn: ours, takes: tt.takes}
				if tt.reads {
					go caller.read() // ends with the connection
				}
				synctest.Wait()
				p.expire()
				start := time.Now()
				if err := <-written; (err == nil) != tt.takes {
					t.Errorf("the write ended with %v", err)
				}
				// ends at once, or by expire.
				go func() { answered <- p.exit(wire.Exit{Outcome: wire.Signaled, Signal: "TERM"}) }()
				if err := <-answered; (err == nil) != tt.reads {
					t.Errorf("the answer ended with %v", err)
				}
				if took := time.Since(start); took > tt.most {
					t.Errorf("it took %s, want at most %s", took, tt.most)
				}
				if !tt.reads {
					time.Sleep(time.Hour)
					go caller.read() // ends with the connection
				}
				new(unreadEnds).deliver(p)
				synctest.Wait()
				if caller.output != tt.output || !caller.exit {
					t.Errorf("the caller got %d bytes, and an exit: %v; want %d, true", caller.output, caller.exit, tt.output)
				}
				p.close()
				ours.Close()
			})
		})
	}
}

// TestUnreadEnds has more callers that do not read the end of their call than wait for that at a time.
//
// Attack 167.
func TestUnreadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends unreadEnds
		var all []net.Conn
		delivered := make(chan int, maxUnread+1)
		for i := range maxUnread + 1 {
			ours, theirs := net.Pipe()
			all = append(all, ours)
			p := newPeer(theirs)
			p.expire()
			if err := p.exit(wire.Exit{}); err != errStalled {
				t.Errorf("exit = %v, want %v", err, errStalled)
			}
			// ends when ours is closed, or the caller is one too many.
			go func() {
				ends.deliver(p)
				delivered <- i
			}()
			synctest.Wait()
		}
		if first := <-delivered; first != 0 || len(delivered) > 0 {
			t.Errorf("caller %d and %d more lost their connections, want the first", first, len(delivered))
		}
		for _, ours := range all {
			ours.Close()
		}
		synctest.Wait()
		if len(delivered) != maxUnread || len(ends.peers) > 0 {
			t.Errorf("%d have left, and %d wait", len(delivered), len(ends.peers))
		}
	})
}

// stalledCaller reads frames, and gives credit for output if takes is set.
type stalledCaller struct {
	conn   net.Conn
	takes  bool
	output int
	exit   bool
}

func (c *stalledCaller) read() {
	for b := make([]byte, wire.MaxFrame); ; {
		kind, payload, err := wire.ReadFrame(c.conn, b)
		switch {
		case err != nil:
			return
		case kind == wire.KindExit:
			c.exit = true
		case kind == wire.KindStdout:
			c.output += len(payload)
			if c.takes {
				c.conn.Write(wire.AppendFrame(nil, wire.KindCredit, wire.AppendCredit(nil, uint32(len(payload)))))
			}
		}
	}
}
