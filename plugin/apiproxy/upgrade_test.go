// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiproxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// upgradingEngine is an engine that takes over the connection, reads it to its end, and then sends that
// data twice.
func upgradingEngine(head string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, head+"\r\n\r\nready\n")
		b, _ := io.ReadAll(rw) // until the client ends its direction
		c.Write(bytes.Repeat(b, 2))
	})
}

// TestUpgrade checks that an upgraded connection carries both directions, one of which ends first, and that old clients
// get the same without an Upgrade.
func TestUpgrade(t *testing.T) {
	for _, tt := range []struct{ name, request, head string }{
		{"attach", "POST /v1.41/containers/x/attach?stream=1 HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n", "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp"},
		{"exec", "POST /exec/x/start HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp"},
		{"session", "POST /session HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c"},
		{"an old attach", "POST /containers/x/attach HTTP/1.1\r\nHost: d\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream"},
		{"an old exec", "POST /v1.12/exec/x/start HTTP/1.1\r\nHost: d\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxy, _ := startProxy(t, upgradingEngine(tt.head), nil)
			conn, err := net.Dial("unix", proxy)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			in := strings.Repeat("0123456789abcdef", 1<<16)
			io.WriteString(conn, tt.request)
			r := bufio.NewReader(conn)
			for line := ""; line != "ready\n"; {
				if line, err = r.ReadString('\n'); err != nil {
					t.Fatalf("before it was upgraded: %v", err)
				}
			}
			if _, err := io.WriteString(conn, in); err != nil {
				t.Fatal(err)
			}
			if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil || string(b) != in+in {
				t.Errorf("%d bytes came back (%v), want %d", len(b), err, 2*len(in))
			}
		})
	}
}

// TestUpgradeOutputKept has an engine close a connection whose client still sends: the last output
// arrives.
func TestUpgradeOutputKept(t *testing.T) {
	const size = 4 << 20
	proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		c.Write(make([]byte, size))
		c.Close()
	}), nil)
	c, err := net.Dial("unix", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST /containers/x/attach HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	sent := make(chan struct{})
	// ends when the proxy reads no more
	go func() {
		defer close(sent)
		for b := make([]byte, 1<<16); ; {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}()
	r := bufio.NewReader(c)
	if _, err := http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); n != size { // a reset may follow, as without a proxy
		t.Errorf("%d bytes (%v), want %d", n, err, size)
	}
	c.Close()
	<-sent
}

// TestStreamOfLibrary starts an exec without an Upgrade, as dockerode does. The client reads the
// output, even if it waits for the engine before it sends the body.
func TestStreamOfLibrary(t *testing.T) {
	const out = "\x01\x00\x00\x00\x00\x00\x00\x03hi\n"
	proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"+out)
	}), nil)
	for _, expect := range []string{"", "100-continue"} {
		req, err := http.NewRequest(http.MethodPost, "http://d/exec/x/start", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Expect", expect)
		r, err := httpClient(proxy, false).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if string(b) != out || err != nil {
			t.Errorf("Expect %q: %q, %v came back, want %q", expect, b, err, out)
		}
	}
}

// TestNextRequestRead has an engine answer an upgrade request with an ordinary response of the
// stream type. The next request on the connection is checked like any other.
//
// Attack 258.
func TestNextRequestRead(t *testing.T) {
	m := newLabeler()
	proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/vnd.docker.raw-stream")
			io.WriteString(w, "a log\n")
			return
		}
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"Id":"1"}`)
	}), m)
	sendRaw(t, proxy, "GET /containers/x/logs HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"+
		"POST /containers/create HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	select {
	case <-m.created:
	default:
		t.Error("Sessions did not hear of the creation")
	}
}
