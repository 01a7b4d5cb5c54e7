// SPDX-License-Identifier: Apache-2.0

package http

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// listening returns a Listener with a port on the loopback device.
func listening(t *testing.T, serve func(*receivedCall)) (*Listener, string) {
	t.Helper()
	h := New(t.TempDir(), goodToken, func() string { return "/w" })
	host(t, h, serve)
	at, err := h.Open("lo", netip.MustParseAddr("127.0.0.1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hosts = []string{"host"}
	return h, at
}

// near dials from an address of the loopback network that is not the carrier's own.
var near = net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}

func ask(conn io.Writer, body string) {
	fmt.Fprintf(conn, "POST /request HTTP/1.1\r\nHost: host\r\nX-Hostexec-Token: %s\r\nContent-Length: %d\r\n\r\n%s", goodToken, len(body), body)
}

func dialTo(t *testing.T, at string) net.Conn {
	t.Helper()
	conn, err := near.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

func answered(t *testing.T, conn net.Conn) string {
	t.Helper()
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// TestHTTPHangUp closes a caller's connection: the call ends in each of its phases, whatever the
// caller sent after the request.
//
// Attack 182.
func TestHTTPHangUp(t *testing.T) {
	for _, behind := range []string{"", "x"} {
		began, ended := make(chan struct{}), make(chan struct{})
		_, at := listening(t, func(c *receivedCall) {
			c.start(false, "x")
			close(began)
			// The reader that host has set to it ends with the call.
			for {
				if _, err := c.Write(wire.AppendFrame(nil, wire.KindStdout, []byte("x"))); err != nil {
					close(ended)
					return
				}
			}
		})
		conn := dialTo(t, at)
		ask(conn, `{"args": ["make"]}`)
		<-began
		io.WriteString(conn, behind)
		conn.Close()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("with %q behind its request, the call continues without its caller", behind)
		}
	}
}

// TestHTTPSlowClients checks that slow clients are disconnected, and that no request waits for
// them.
//
// Attack 177.
func TestHTTPSlowClients(t *testing.T) {
	_, at := listening(t, echo)
	idle := dialTo(t, at)
	slow := dialTo(t, at)
	io.WriteString(slow, "POST /request HTTP/1.1\r\nHost: host\r\n")
	var others []net.Conn
	for range 2 * carrier.MaxUnauthenticated {
		others = append(others, dialTo(t, at))
	}
	body := dialTo(t, at)
	fmt.Fprintf(body, "POST /request HTTP/1.1\r\nHost: host\r\nX-Hostexec-Token: %s\r\nContent-Length: 100\r\n\r\nx", goodToken)
	conn := dialTo(t, at)
	ask(conn, `{"args": ["make"]}`)
	if got := answered(t, conn); !strings.Contains(got, `"stdout":"make"`) {
		t.Errorf("a request beside unauthenticated clients: %s", got)
	}
	for _, c := range append(others[:carrier.MaxUnauthenticated/2], idle, slow) {
		if n, err := c.Read(make([]byte, 1)); n == 0 && err != nil && !strings.Contains(err.Error(), "timeout") {
			continue
		}
		t.Error("an unauthenticated client is kept")
	}
	if got := answered(t, body); !strings.Contains(got, "408 Request Timeout") {
		t.Errorf("half a body: %s", got)
	}
}

// TestHTTPTooManySlowClients checks requests that do not send their bodies, with and without the token. They are
// disconnected, and none takes more slots than a client without the token.
//
// Attack 177.
func TestHTTPTooManySlowClients(t *testing.T) {
	t.Parallel() // it is waiting
	h, at := listening(t, echo)
	for range maxCalls {
		h.enter()
		defer h.leave()
	}
	head := "POST /request HTTP/1.1\r\nHost: host\r\nContent-Length: 1000\r\n"
	for want, more := range map[string]string{"503": "X-Hostexec-Token: " + goodToken + "\r\n", "401": ""} {
		conn := dialTo(t, at)
		io.WriteString(conn, head+more+"\r\n{")
		t.Run(want, func(t *testing.T) {
			if got := answered(t, conn); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
				t.Errorf("half a body: %s, want %s", got, want)
			}
		})
	}
}

// TestHTTPHugeHeader checks a header that exceeds the limit.
//
// Attack 178.
func TestHTTPHugeHeader(t *testing.T) {
	_, at := listening(t, echo)
	conn := dialTo(t, at)
	fmt.Fprintf(conn, "POST /request HTTP/1.1\r\nHost: host\r\nX: %s\r\n\r\n", strings.Repeat("x", 4*maxHeader))
	if got, err := bufio.NewReader(conn).ReadString('\n'); !strings.HasPrefix(got, "HTTP/1.1 431 ") {
		t.Errorf("a huge header: %q, %v", got, err)
	}
}

// TestHTTPPorts takes the next port where one is taken.
func TestHTTPPorts(t *testing.T) {
	_, at := listening(t, echo)
	taken := netip.MustParseAddrPort(at).Port()
	h := New(t.TempDir(), goodToken, nil)
	t.Cleanup(func() { h.Close() })
	lo := netip.MustParseAddr("127.0.0.1")
	if got, err := h.Open("lo", lo, taken); err == nil || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("a port in use: %s, %v", got, err)
	}
	if got, err := h.Open("lo", lo, taken, 0); err != nil || got == at {
		t.Errorf("the next port: %s, %v", got, err)
	}
	if _, err := New(t.TempDir(), goodToken, nil).Open("nonesuch0", lo, 0); err == nil {
		t.Error("a missing device")
	}
	if _, err := New(t.TempDir(), goodToken, nil).Open("lo", netip.MustParseAddr("192.0.2.77"), 0); err == nil {
		t.Error("an address of another device")
	}
}

// TestHTTPOtherNetwork checks that only hosts of the same network can connect, not even this host.
//
// Attack 175.
func TestHTTPOtherNetwork(t *testing.T) {
	_, at := listening(t, echo)
	itself, err := net.Dial("tcp", at) // from the same address
	if err != nil {
		t.Fatal(err)
	}
	defer itself.Close()
	itself.SetDeadline(time.Now().Add(time.Minute))
	ask(itself, `{"args": ["make"]}`)
	if b, _ := io.ReadAll(itself); len(b) > 0 {
		t.Errorf("this host gets an answer: %s", b)
	}
	conn := dialTo(t, at)
	ask(conn, `{"args": ["make"]}`)
	if got := answered(t, conn); !strings.Contains(got, `"stdout":"make"`) {
		t.Errorf("another host of the network: %s", got)
	}
}

// TestHTTPClose ends a session: callers get an answer, and no file stays.
func TestHTTPClose(t *testing.T) {
	session, stop := context.WithCancel(t.Context())
	began := make(chan struct{})
	h, at := listening(t, func(c *receivedCall) {
		c.start(false, "x")
		close(began)
		<-session.Done()
	})
	conn := dialTo(t, at)
	ask(conn, `{"args": ["make"]}`)
	<-began
	stop()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if got := answered(t, conn); !strings.Contains(got, `"status":"error"`) {
		t.Errorf("a call at the session's end: %s", got)
	}
	if c, err := net.Dial("tcp", at); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}
