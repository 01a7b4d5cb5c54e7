// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// attempt is a request that differs from the page's own, and the expected status.
type attempt struct {
	name, method, path string
	edit               func(*http.Request)
	code               int
}

func set(kv ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(kv); i += 2 {
			r.Header.Set(kv[i], kv[i+1])
		}
	}
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
func drop(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }

// foreignRequests returns requests of clients that are not the page, or lack its token.
func foreignRequests(s *served, approve string) []attempt {
	port := s.ln.Addr().(*net.TCPAddr).Port
	return []attempt{
		{"another site's fetch", "POST", approve, set("Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"), 403},
		{"the same, to revoke", "DELETE", "/grants/00", set("Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"), 403},
		{"no origin, to revoke", "DELETE", "/grants/00", drop("Origin"), 403},
		{"no token, to revoke", "DELETE", "/grants/00", drop(tokenHeader), 401},
		{"another port of this host", "POST", approve, set("Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"), 403},
		{"a site that says it is none", "POST", approve, set("Origin", "null"), 403},
		{"the right origin, but the browser knows better", "POST", approve, set("Sec-Fetch-Site", "same-site"), 403},
		{"origin with a path", "POST", approve, set("Origin", s.address.Origin+"/"), 403},
		{"no origin", "POST", approve, drop("Origin"), 403},
		{"two origins", "POST", approve, func(r *http.Request) { r.Header.Add("Origin", s.address.Origin) }, 403},
		{"reading from another origin", "GET", "/pending", set("Origin", "http://localhost:3000"), 403},
		{"a name rebound to this address", "POST", approve, host(fmt.Sprintf("evil.example:%d", port)), 421},
		{"the same, with its origin", "GET", "/pending", func(r *http.Request) { r.Host = "evil.example"; r.Header.Set("Origin", "http://evil.example") }, 421},
		{"localhost is another origin", "GET", "/", host(fmt.Sprintf("localhost:%d", port)), 421},
		{"without the port", "GET", "/pending", host("127.0.0.1"), 421},
		{"the same address, spelt otherwise", "GET", "/pending", host(fmt.Sprintf("127.1:%d", port)), 421},
		{"no token", "GET", "/pending", drop(tokenHeader), 401},
		{"no token, to approve", "POST", approve, drop(tokenHeader), 401},
		{"wrong token", "POST", approve, set(tokenHeader, strings.Repeat("0", 64)), 401},
		{"half a token", "POST", approve, set(tokenHeader, s.address.Token[:32]), 401},
		{"empty token", "GET", "/events", set(tokenHeader, ""), 401},
		{"two tokens", "GET", "/pending", func(r *http.Request) { r.Header.Add(tokenHeader, "x") }, 401},
		{"token in the query", "GET", "/pending?token=" + s.address.Token, drop(tokenHeader), 401},
		{"token as a cookie", "GET", "/pending", func(r *http.Request) { r.Header.Del(tokenHeader); r.Header.Set("Cookie", "token="+s.address.Token) }, 401},
	}
}

// shapes returns requests that the page never sends.
func shapes(approve string) []attempt {
	return []attempt{
		{"approve by GET", "GET", approve, nil, 405},
		{"by HEAD", "HEAD", "/pending", nil, 405},
		{"asking first", "OPTIONS", approve, nil, 405},
		{"by DELETE", "DELETE", approve, nil, 405},
		{"revoke by POST", "POST", "/grants/00", nil, 405},
		{"by PUT", "PUT", approve, nil, 405},
		{"GET that says it is POST", "GET", approve, set("X-HTTP-Method-Override", "POST"), 405},
		{"a form", "POST", approve, set("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"plain text", "POST", approve, set("Content-Type", "text/plain"), 415},
		{"no type", "POST", approve, drop("Content-Type"), 415},
		{"POST to read", "POST", "/pending", nil, 405},
		{"two slashes", "POST", "/" + approve, nil, 404},
		{"up and down", "POST", "/static/.." + approve, nil, 404},
		{"up and down, hidden", "POST", "/static/%2e%2e" + approve, nil, 404},
		{"a slash, hidden", "POST", "/approve%2f" + ask1, nil, 404},
		{"through static", "GET", "/static/../pending", drop(tokenHeader), 404},
		{"a directory", "GET", "/static/", nil, 404},
		{"a file that is not served", "GET", "/static/SHA256SUMS", nil, 404},
		{"nothing", "GET", "/favicon.ico", nil, 404},
		{"a frame elsewhere", "GET", "/", set("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "iframe"), 403},
		{"a script elsewhere", "GET", "/static/app.js", set("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "script"), 403},
		{"a link elsewhere", "GET", "/", set("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"), 200},
		{"the file that opens the page", "GET", "/", func(r *http.Request) {
			r.Header.Del(tokenHeader)
			set("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")(r)
		}, 200},
		{"a file that fetches", "GET", "/pending", set("Origin", "null", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"), 403},
		{"a file that navigates elsewhere", "GET", "/pending", set("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 403},
		{"a file that presents a code itself", "POST", "/token", func(r *http.Request) { drop(tokenHeader)(r); set("Origin", "null", "Sec-Fetch-Site", "cross-site")(r) }, 403},
		{"a file that embeds the page", "GET", "/", set("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "object"), 403},
		{"a file that sends a form", "POST", "/", set("Origin", "null", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 403},
		{"the page, typed in", "GET", "/", func(r *http.Request) { r.Header.Del(tokenHeader); r.Header.Set("Sec-Fetch-Site", "none") }, 200},
		{"code, without the token", "POST", "/code", drop(tokenHeader), 401},
		{"a code that is none", "POST", "/token", drop(tokenHeader), 403},
	}
}

// TestGuard sends requests that other pages, other programs, and containers on the host's network could
// send.
//
// Attacks 103, 104, 105, 106, 107, 108, 109, 113, 114, 123.
func TestGuard(t *testing.T) {
	store := newStore(t)
	w, s := newWatcher(t, store), newPage(t, store)
	got := w.ask(t, ask1, "make")
	approve, body := "/approve/"+ask1, decision(s.only(), "")
	for _, tt := range append(foreignRequests(s, approve), shapes(approve)...) {
		a := s.try(tt.method, tt.path, map[bool]string{true: body}[tt.method == "POST"], tt.edit)
		if a.code != tt.code {
			t.Errorf("%s: %s %s = %d, want %d: %s", tt.name, tt.method, tt.path, a.code, tt.code, a.body)
		}
		if a.code >= 400 && tt.method != "HEAD" && !strings.HasPrefix(a.body, `{"error":"`) {
			t.Errorf("%s: %s %s says %q, which is no error in JSON", tt.name, tt.method, tt.path, a.body)
		}
		for name, value := range headers {
			if a.header.Get(name) != value {
				t.Errorf("%s: %s = %q, want %q", tt.name, name, a.header.Get(name), value)
			}
		}
		if a.header.Get("Set-Cookie") != "" || a.header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(a.body, s.address.Token) {
			t.Errorf("%s: answered with %v, %s", tt.name, a.header, a.body)
		}
	}
	select {
	case a := <-got:
		t.Errorf("one of them got through: %+v", a)
	default:
	}
	s.try(http.MethodPost, "/deny/"+ask1, "", nil)
	<-got
}

// TestListensHereOnly checks that the page listens on the loopback address only.
//
// Attack 115.
func TestListensHereOnly(t *testing.T) {
	s := newPage(t, newStore(t))
	if a := s.ln.Addr().(*net.TCPAddr); !a.IP.Equal(net.IPv4(127, 0, 0, 1)) {
		t.Errorf("it listens on %v", a)
	}
}

// TestSlowClient checks that slow clients are disconnected and do not block others.
//
// Attack 114.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	s := newPage(t, newStore(t))
	var conns []net.Conn
	for range 100 {
		c, err := net.Dial("tcp", s.ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "GET /pending HTTP/1.1\r\nHost:")
		conns = append(conns, c)
	}
	if a := s.try(http.MethodGet, "/pending", "", nil); a.code != 200 {
		t.Errorf("among dawdlers: %d", a.code)
	}
	conns[0].SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, conns[0]); err != nil {
		t.Errorf("a dawdler is not cut off: %v", err)
	}
}

// TestHugeHeader checks that a header of unlimited size is not read to its end.
//
// Attack 113.
func TestHugeHeader(t *testing.T) {
	s := newPage(t, newStore(t))
	c, err := net.Dial("tcp", s.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /pending HTTP/1.1\r\nHost: %s\r\nX: %s\r\n\r\n", s.ln.Addr(), strings.Repeat("x", 32<<10))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("= %d, want 431", resp.StatusCode)
	}
}
