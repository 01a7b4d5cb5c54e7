// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/client"
)

// startProxy serves h as the engine, and a proxy in front of it. It returns the proxy's socket, and the engine's.
func startProxy(t *testing.T, h http.Handler, sessions Sessions) (proxy, engine string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	proxy, engine, done := serveProxy(t, ctx, h, sessions)
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return proxy, engine
}

// serveProxy is startProxy for a proxy that serves until ctx ends. done gets the result of Serve.
func serveProxy(t *testing.T, ctx context.Context, h http.Handler, sessions Sessions) (proxy, engine string, done <-chan error) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "h") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	engine, proxy = filepath.Join(dir, "engine"), filepath.Join(dir, "proxy")
	ln, err := net.Listen("unix", engine)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	// ends with srv.Close
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	api, err := client.NewClientWithOpts(client.WithHost("unix://" + engine))
	if err != nil {
		t.Fatal(err)
	}
	pl, err := net.ListenUnix("unix", &net.UnixAddr{Name: proxy, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	t.Cleanup(func() { api.Close() })
	// ends with ctx
	go func() { served <- (&Server{Engine: api, Sessions: sessions, Socket: proxy}).Serve(ctx, pl) }()
	return proxy, engine, served
}

// httpClient returns a client that connects to the socket at path.
func httpClient(path string, h2c bool) *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}, DisableKeepAlives: !h2c}
	tr.Protocols.SetHTTP1(!h2c)
	tr.Protocols.SetUnencryptedHTTP2(h2c)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// sendRaw sends the request text unchanged, and returns the response.
func sendRaw(t *testing.T, socket, text string) string {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// labeler is an implementation of Sessions that adds a label, and records the calls of its methods.
type labeler struct {
	started chan string
	created chan string
	refuse  error
}

func newLabeler() *labeler {
	return &labeler{started: make(chan string, 1000), created: make(chan string, 1000)}
}

func (m *labeler) Create(_ context.Context, req *CreateRequest) (func(context.Context, string) error, error) {
	if m.refuse != nil {
		return nil, m.refuse
	}
	labels, _ := req.Body["Labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
		req.Body["Labels"] = labels
	}
	labels["edited"] = req.Name
	return func(_ context.Context, id string) error { m.created <- id; return nil }, nil
}

func (m *labeler) Start(_ context.Context, id string) error { m.started <- id; return m.refuse }

// isInspect reports whether the proxy inspects a container.
func isInspect(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/json")
}

// TestPassed checks that requests other than creations arrive as they were sent, and answers too.
func TestPassed(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var head bytes.Buffer
		r.Header.Del("Connection") // of this connection only
		r.Header.Write(&head)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Server", "Docker/1")
		w.Header().Set("X-Te", fmt.Sprint(r.TransferEncoding))
		w.WriteHeader(418)
		fmt.Fprintf(w, "%s %s %s\n%s%x", r.Method, r.RequestURI, r.Host, head.String(), sha256.Sum256(body))
	})
	proxy, engine := startProxy(t, echo, newLabeler())
	for _, text := range []string{
		"GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n",
		"HEAD /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n",
		"GET /v1.41/events?filters=%7B%22a%22%3A%5B%22;%22%5D%7D&x=a;b HTTP/1.1\r\nHost: api.moby.localhost\r\nConnection: close\r\nX-Forwarded-For: me\r\nAccept-Encoding: gzip\r\n\r\n",
		"POST /build HTTP/1.1\r\nHost: d\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nContent-Type: application/x-tar\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
		"POST /containers/a%2Fb/rename?name=%2e HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
		"PUT /containers/x/archive?path=%2F HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
		"DELETE //x/../y HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n",
	} {
		if got, want := withoutDate(sendRaw(t, proxy, text)), withoutDate(sendRaw(t, engine, text)); got != want {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
}

// withoutDate returns the lines of an answer in an order of their own, without the date.
func withoutDate(s string) string {
	lines := slices.DeleteFunc(strings.Split(s, "\r\n"), func(line string) bool { return strings.HasPrefix(line, "Date: ") })
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestStart checks that Sessions hears of a start before the engine does.
func TestStart(t *testing.T) {
	m := newLabeler()
	proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isInspect(r) {
			io.WriteString(w, `{"Id":"a"}`)
			return
		}
		select {
		case id := <-m.started:
			fmt.Fprint(w, id)
		default:
			fmt.Fprint(w, "nobody")
		}
	}), m)
	for path, want := range map[string]string{
		"/containers/abc/start": "abc", "/v1.41/containers/my-name/restart?t=0": "my-name", "/v1.41/containers/a%2Fb/start": "a/b",
		"/v1.41//containers/abc/./start": "abc", "/containers/abc/Restart": "abc",
		"/exec/abc/start": "nobody", "/containers/abc/stop": "nobody", "/containers/prune": "nobody",
	} {
		r, err := httpClient(proxy, false).Post("http://d"+path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if string(b) != want {
			t.Errorf("POST %s: Sessions heard of %q before the engine, want %q", path, b, want)
		}
	}
}

// waiter is an implementation of Sessions whose Start waits for release.
type waiter struct {
	*labeler
	release chan struct{}
}

func (w waiter) Start(ctx context.Context, id string) error {
	_ = w.labeler.Start(ctx, id)
	<-w.release
	return nil
}

// TestServeWaitsForStart checks that Serve returns after Sessions.Start has. Otherwise the process could end while a
// watcher starts, and Start could begin goroutines after their caller has waited for them.
func TestServeWaitsForStart(t *testing.T) {
	w := waiter{newLabeler(), make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	proxy, _, done := serveProxy(t, ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"Id":"a"}`) }), w)
	c, err := net.Dial("unix", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /containers/a/start HTTP/1.1\r\nHost: d\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-w.started
	cancel()
	select {
	case <-done:
		t.Error("Serve returned before Start")
	case <-time.After(200 * time.Millisecond):
		close(w.release)
		<-done
	}
}

// TestStreams checks that bytes pass at once in both directions while a request's body is still being sent.
func TestStreams(t *testing.T) {
	proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		b := make([]byte, 100)
		for {
			n, err := r.Body.Read(b)
			w.Write(b[:n])
			http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
		}
	}), nil)
	in, out := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, "http://d/build", in)
	if err != nil {
		t.Fatal(err)
	}
	// ends when the pipe takes it
	go io.WriteString(out, "first\n")
	r, err := httpClient(proxy, false).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	lines := bufio.NewReader(r.Body)
	for _, want := range []string{"first\n", "second\n"} {
		if got, err := lines.ReadString('\n'); got != want {
			t.Fatalf("%q, %v came back, want %q", got, err, want)
		}
		if want == "first\n" {
			io.WriteString(out, "second\n")
		}
	}
	out.Close()
}

// TestEngineGone checks the proxy's error while the engine does not run, and that the proxy works once it runs again.
func TestEngineGone(t *testing.T) {
	proxy, engine := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "OK") }), nil)
	if err := os.Rename(engine, engine+".away"); err != nil {
		t.Fatal(err)
	}
	r, err := httpClient(proxy, false).Get("http://d/_ping")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != 502 || !strings.Contains(string(b), "hostexec: the engine at unix://"+engine+" does not answer") {
		t.Errorf("without an engine: %s %s", r.Status, b)
	}
	if err := os.Rename(engine+".away", engine); err != nil {
		t.Fatal(err)
	}
	r, err = httpClient(proxy, false).Get("http://d/_ping")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, _ := io.ReadAll(r.Body); string(b) != "OK" {
		t.Errorf("with the engine again: %s %s", r.Status, b)
	}
}
