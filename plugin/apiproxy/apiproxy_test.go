// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
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
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	// ends with cancel
	go func() { done <- (&Server{Engine: api, Sessions: sessions, Socket: proxy}).Serve(ctx, pl) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		api.Close()
	})
	return proxy, engine
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

// TestCreateReached checks that no form of a request that an engine takes for a creation passes unedited. The engine's
// router is gorilla/mux, here as strict as net/http can be: the decoded path counts.
//
// Attack 245.
func TestCreateReached(t *testing.T) {
	got := make(chan string, 1)
	engine := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
		w.WriteHeader(http.StatusTeapot)
	})
	proxy, _ := startProxy(t, engine, newLabeler())
	body := `{"Image":"x","N":12345678901234567890.10,"Unknown":{"a":[null,true,"<"]}}`
	want := `{"Image":"x","Labels":{"edited":"n"},"N":12345678901234567890.10,"Unknown":{"a":[null,true,"<"]}}`
	for _, target := range []string{
		"/containers/create?name=n", "/v1.41/containers/create?name=n", "/v9/containers/create?name=n", "/v1.24.0../containers/create?name=n",
		"/v1.41/containers/%63reate?name=n", "/%76%31/%63ontainers/create?name=n", "/v1.41%2Fcontainers%2fcreate?name=n",
		"http://docker/v1.41/containers/create?name=n", "//containers/create?name=n", "/v1.41//containers/./create?name=n",
		"/v1.41/containers/create/?name=n", "/x/../containers/create?name=n", "/V1.41/Containers/CREATE?name=n",
		"/containers/create?x=;&name=n",
	} {
		for _, head := range []string{
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
			fmt.Sprintf("Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n%x\r\n%s\r\n0\r\nX: y\r\n\r\n", len(body), body),
			fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
			fmt.Sprintf("Upgrade: tcp\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		} {
			answer := sendRaw(t, proxy, "POST "+target+" HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Type: application/json\r\n"+head)
			select {
			case b := <-got:
				if b != want {
					t.Errorf("POST %s: the engine got %q, want %q", target, b, want)
				}
			default:
				t.Errorf("POST %s: the engine got nothing: %q", target, answer)
			}
		}
	}
}

// TestCreateOverHTTP2 checks that a creation is edited over HTTP/2, too.
func TestCreateOverHTTP2(t *testing.T) {
	engine := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, r.Proto, " ")
		io.Copy(w, r.Body)
	})
	proxy, _ := startProxy(t, engine, newLabeler())
	c := httpClient(proxy, true)
	defer c.CloseIdleConnections()
	r, err := c.Post("http://d/v1.41/containers/create?name=n", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, _ := io.ReadAll(r.Body); string(b) != `HTTP/2.0 {"Labels":{"edited":"n"}}` {
		t.Errorf("the engine got %q", b)
	}
}

// TestRefused checks that refusals have the format of the engine's errors, and that the engine gets nothing.
//
// Attacks 246, 247, 257, 267.
func TestRefused(t *testing.T) {
	m := newLabeler()
	proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isInspect(r) {
			io.WriteString(w, `{"Id":"a"}`)
			return
		}
		t.Error("the engine was asked")
	}), m)
	for _, tt := range []struct {
		name, path, body, want string
		status                 int
	}{
		{"no JSON", "/containers/create", "{", "unexpected EOF", 400},
		{"keys", "/containers/create", `{"HostConfig":{},"hostconfig":{}}`, `the key \"HostConfig\" is there twice, or in another case`, 400},
		{"too much", "/containers/create", `{"Cmd":"` + strings.Repeat("x", maxBody) + `"}`, "more than 16 MiB", 413},
		{"many parts", "/containers/create", `{"Cmd":[` + strings.Repeat("1,", maxTokens) + `1]}`, "more than 200000 keys and values", 400},
		{"a start with a configuration", "/v1.23/containers/a/start", `{"Binds":["/:/x"]}`, "API 1.24", 400},
	} {
		r, err := httpClient(proxy, false).Post("http://d"+tt.path, "application/json", strings.NewReader(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		var e struct{ Message *string }
		if err := json.Unmarshal(b, &e); err != nil || e.Message == nil || r.StatusCode != tt.status ||
			!strings.HasPrefix(*e.Message, "hostexec: ") || !strings.Contains(string(b), tt.want) {
			t.Errorf("%s: %s %s, want %d %s", tt.name, r.Status, b, tt.status, tt.want)
		}
	}
	m.refuse = errors.New("a mount at /x\x1b[2J\u202e\nis in the way")
	if got := sendRaw(t, proxy, "POST /containers/a/start HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n"); !strings.HasSuffix(got, `{"message":"hostexec: a mount at /x\\x1b[2J\\u202e\nis in the way"}`+"\n") {
		t.Errorf("a terminal's sequence: %q", got)
	}
	m.refuse = errors.New("not this one")
	for _, path := range []string{"/containers/create", "/containers/a/start", "/v1.41/containers/a/restart?t=1"} {
		r, err := httpClient(proxy, false).Post("http://d"+path, "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 403 || string(b) != `{"message":"hostexec: not this one"}`+"\n" {
			t.Errorf("POST %s: %s %s", path, r.Status, b)
		}
	}
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

// TestCreatedOnce checks that Sessions is told once how a creation ended, even if the client has
// left.
func TestCreatedOnce(t *testing.T) {
	m := newLabeler()
	asked, answer := make(chan bool, 1), make(chan bool)
	proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/json") {
			fmt.Fprint(w, `{"Id":"abc","Mounts":[]}`)
			return
		}
		asked <- true
		<-answer
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"Id":"abc","Warnings":[]}`)
	}), m)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://d/containers/create", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	// ends with leave
	go func() { _, err := httpClient(proxy, false).Do(req); gone <- err }()
	<-asked
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(answer)
	select {
	case id := <-m.created:
		if id != "abc" {
			t.Errorf("Sessions heard of %q, want abc", id)
		}
	case <-time.After(time.Minute):
		t.Fatal("Sessions heard nothing")
	}
	if len(m.created) > 0 {
		t.Error("Sessions heard twice")
	}
}
