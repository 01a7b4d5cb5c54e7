// SPDX-License-Identifier: Apache-2.0

package http

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// receivedCall is a call that the test receives in place of the host.
type receivedCall struct {
	net.Conn
	t    *testing.T
	exec wire.Exec
	sent atomic.Int64 // bytes of output
}

// readCredit reads what the carrier sends after the request: credit, and never more than the output so far.
func (c *receivedCall) readCredit() {
	for granted := int64(0); ; {
		kind, b, err := wire.ReadFrame(c, nil)
		if err != nil {
			return
		}
		n, err := wire.ParseCredit(b)
		if kind != wire.KindCredit || err != nil {
			c.t.Errorf("the carrier sends %v, %v", kind, err)
			return
		}
		if granted += int64(n); granted > c.sent.Load() {
			c.t.Errorf("credit for %d bytes, of %d", granted, c.sent.Load())
		}
	}
}

func (c *receivedCall) say(kind wire.Kind, payload []byte) {
	if kind == wire.KindStdout || kind == wire.KindStderr {
		c.sent.Add(int64(len(payload)))
	}
	if _, err := c.Write(wire.AppendFrame(nil, kind, payload)); err != nil {
		c.t.Logf("say: %v", err) // a caller that has gone
	}
}

// start says that the command runs, and why.
func (c *receivedCall) start(asked bool, pattern string) {
	c.Conn.(*hostConn).Decided(asked, pattern)
	s := wire.Started{Request: "0011223344556677", FDs: [3]wire.Disposition{wire.Null, wire.Copied, wire.Copied}}
	c.say(wire.KindStarted, s.Append(nil))
}

func (c *receivedCall) end(e wire.Exit) { c.say(wire.KindExit, e.Append(nil)) }

// host answers the calls of ln by serve, until ln is closed.
func host(t *testing.T, ln net.Listener, serve func(*receivedCall)) {
	t.Helper()
	var wg sync.WaitGroup
	// ends when ln is closed.
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			// ends with serve, which the caller's end ends.
			wg.Go(func() {
				defer conn.Close()
				kind, b, err := wire.ReadFrame(conn, nil)
				exec, perr := wire.ParseExec(string(b))
				if err != nil || perr != nil || kind != wire.KindExec {
					t.Errorf("the carrier sends %v, %v, %v", kind, err, perr)
					return
				}
				c := &receivedCall{Conn: conn, t: t, exec: exec}
				var reading sync.WaitGroup
				// ends with conn.
				reading.Go(c.readCredit)
				serve(c)
				conn.Close()
				reading.Wait()
			})
		}
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
}

// echo answers with the arguments, each on a line.
func echo(c *receivedCall) {
	c.start(false, "--proxy "+c.exec.Args[0])
	c.say(wire.KindStdout, []byte(strings.Join(c.exec.Args, "\n")))
	c.end(wire.Exit{Outcome: wire.Exited})
}

// newTestListener returns a Listener without a port, as an http.Handler.
func newTestListener(t *testing.T, serve func(*receivedCall)) *Listener {
	t.Helper()
	h := New(t.TempDir(), goodToken, func() string { return "/w" })
	h.hosts = hostsOf(netip.MustParseAddrPort("172.17.0.1:9998"))
	host(t, h, serve)
	return h
}

// post makes a request of body.
func post(h http.Handler, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://172.17.0.1:9998/request", strings.NewReader(body))
	r.Header.Set("X-Hostexec-Token", goodToken)
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del("X-Hostexec-Token")
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}
