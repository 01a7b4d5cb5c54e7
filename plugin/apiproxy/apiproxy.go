// SPDX-License-Identifier: Apache-2.0

// Package apiproxy is a proxy of the engine's API. It gives sessions to containers that clients of the API create.
//
//	client --private unix socket--> Server --docker/cli's dialer--> engine
//
// Sessions gives containers their sessions. The proxy decodes one kind of request only, POST /containers/create, so
// that Sessions can edit its JSON. Before a start or restart of a container, the proxy calls Sessions, too. All other
// traffic passes unchanged: bodies of any size, and streams that are silent for hours. So do upgraded connections
// (attach, exec, session, grpc), also if one direction ends first.
//
// No container that is created through the proxy may mount the proxy's socket. Server uses neither flags nor
// configuration. SessionLauncher, which implements Sessions, uses both.
package apiproxy

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/control"
)

// Sessions gives selected containers their session.
type Sessions interface {
	// Create may edit req.Body before the request is passed on. The returned function may be nil. It is called once
	// after the engine's answer, with the new container's id, or "" if there is no container. The client gets its
	// error.
	Create(ctx context.Context, req *CreateRequest) (created func(ctx context.Context, id string) error, err error)
	// Start is called before POST /containers/{id}/start and /restart are passed on. id may be a name or a prefix.
	Start(ctx context.Context, id string) error
}

// CreateRequest is one POST /containers/create.
type CreateRequest struct {
	Name     string // of the container, or ""
	Platform string // as the client names it, or ""
	// Body is the JSON tree. Numbers are json.Number. Keys that the API knows have its spelling. It is nil if the
	// client has sent no body, which the engine refuses.
	Body map[string]any
	// Refused is called if the engine refuses the request. Refused may edit Body again and return true; the request is
	// then sent once more. If Refused returns an error, the client gets the error instead of the refusal. If Refused is
	// nil, every refusal is passed on. Sessions.Create may set Refused.
	Refused func(ctx context.Context, refusal error) (again bool, err error)
}

// Server is a proxy. Engine and Socket must be set.
type Server struct {
	Engine   client.APIClient
	Sessions Sessions // nil: no container gets a session
	Socket   string   // path of the socket that clients connect to; no container may mount it

	changes      inFlight // calls of Sessions
	http1, http2 http.RoundTripper
	base         string // of the paths of an engine with tcp://host/base
}

// Serve serves on ln until ctx ends. Then it closes all connections, and waits for the calls of Sessions that have
// begun: otherwise sessions would stay without a container, or a launcher would end before its watcher serves.
func (s *Server) Serve(ctx context.Context, ln *net.UnixListener) error {
	if u, err := client.ParseHostURL(s.Engine.DaemonHost()); err == nil && u.Scheme == "tcp" {
		s.base = u.Path
	}
	t1, t2 := s.transport(false), s.transport(true)
	defer t1.CloseIdleConnections()
	defer t2.CloseIdleConnections()
	s.http1, s.http2 = t1, t2
	// There are no timeouts: docker events may be silent for days, and a build's context may take hours.
	srv := &http.Server{
		Handler: s.handler(), Protocols: new(http.Protocols), ErrorLog: discard,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	l := &listener{Listener: control.OwnUserListener(ln)}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })() // Serve returns its error
	err := srv.Serve(l)
	l.closeAll()
	s.changes.wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// transport returns the transport to the engine: for clients that speak HTTP/2 without TLS (h2c), or for HTTP/1.
func (s *Server) transport(h2c bool) *http.Transport {
	dial := s.Engine.Dialer()
	t := &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableCompression:  true, // it would add a header, and decode what the client has not asked for
		MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTimeout,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize, Protocols: new(http.Protocols),
	}
	t.Protocols.SetHTTP1(!h2c)
	t.Protocols.SetUnencryptedHTTP2(h2c)
	return t
}

// RoundTrip sends r to the engine in the protocol in which the client has sent it.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ProtoMajor == 2 {
		return s.http2.RoundTrip(r)
	}
	return s.http1.RoundTrip(r)
}

// handler returns the handler of all requests.
func (s *Server) handler() http.Handler {
	reverseProxy := &httputil.ReverseProxy{
		Rewrite: s.rewrite, Transport: s, FlushInterval: -1, BufferPool: new(buffers),
		ErrorLog: discard, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { s.refuseWithoutEngine(w, err) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 {
			// An engine may answer while it still reads the body, for example for POST /build.
			_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1 of net/http has it
		}
		if isCreate(r) {
			s.changes.run(func() { s.create(w, r) })
			return
		}
		if id, ok := isStart(r); ok {
			allowed := false
			s.changes.run(func() { allowed = s.start(w, r, id) })
			if !allowed {
				return
			}
		}
		if isUpgrade(r) {
			s.upgrade(w, r)
			return
		}
		reverseProxy.ServeHTTP(w, r)
	})
}

// rewrite directs a request to the engine. It restores the headers that ReverseProxy removes for proxies on a network.
func (s *Server) rewrite(p *httputil.ProxyRequest) {
	s.directToEngine(p.Out.URL)
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.Host = p.In.Host
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = v
		}
	}
}

// directToEngine sets the scheme, host and base path of u for the engine. The dialer ignores the host.
func (s *Server) directToEngine(u *url.URL) {
	u.Scheme, u.Host, u.User = "http", "docker", nil
	if s.base != "" {
		*u = *u.JoinPath()
		u.Path, u.RawPath = s.base+u.Path, ""
	}
}

var discard = log.New(io.Discard, "", 0)
