// SPDX-License-Identifier: Apache-2.0

// Package http has the carriers whose callers get the answer of a call in one piece, as JSON:
//
//	Listener    POST /request on the container's gateway, for callers with the session's token
//	ExecSocket  one line over a unix socket, for tools of this host
//
// docs/http.md has both protocols.
package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
)

// Listener is the carrier for programs that speak HTTP and have no shim. They send POST /request with a command in
// JSON, and get the result in the answer.
//
// It is an http.Handler, and a net.Listener whose connections are calls. Others can reach its port, which is on a
// bridge: only the token shows that a request is the session's.
type Listener struct {
	*callMaker
	token string
	cwd   func() string // returns the directory of calls whose caller sends none

	mu      sync.Mutex // guards the fields below
	hosts   []string   // values of the Host header that are accepted
	srv     *http.Server
	serving sync.WaitGroup
}

const (
	// approvalTimeout is the time limit for a person. Clients wait 300 seconds, and get the reason before that.
	approvalTimeout = 295 * time.Second
	// headerTimeout is the time limit for the header of a request, and again for its body.
	headerTimeout = 5 * time.Second
	// readTimeout is the time limit for a client to read the answer.
	readTimeout = time.Minute
	// hangupInterval is the interval at which a waiting client is checked for a hang-up.
	hangupInterval = 50 * time.Millisecond
	// closeTimeout is the time limit for clients to read their answers when the session ends.
	closeTimeout = 5 * time.Second
	// maxHeader and maxBody limit the bytes of a request.
	maxHeader = 16 << 10
	maxBody   = 256 << 10
)

// New returns a carrier that has no port yet. dir is a private directory for output.
// Requests are the session's if they have token; if that is empty, all are refused.
func New(dir, token string, cwd func() string) *Listener {
	h := &Listener{callMaker: newCallMaker(dir), token: token, cwd: cwd}
	h.name = "HTTP"
	return h
}

// ErrTaken means that another program listens on the port.
var ErrTaken = errors.New("the port is taken")

// Open listens at addr on the first of ports that is free, and returns that address. It accepts connections only from
// the network of addr, except addr itself, and only if they arrive by the network interface device.
func (h *Listener) Open(device string, addr netip.Addr, ports ...uint16) (string, error) {
	network, err := networkOf(device, addr)
	if err != nil {
		return "", fmt.Errorf("listen for HTTP: %w", err)
	}
	err = ErrTaken
	for _, port := range ports {
		at := netip.AddrPortFrom(addr, port)
		var ln net.Listener
		if ln, err = listenOn(device, at); err == nil {
			return h.serve(&carrier.ConnLimiter{Listener: ln, Network: network}), nil
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: %s", ErrTaken, at)
			continue
		}
		break
	}
	return "", fmt.Errorf("listen for HTTP: %w", err)
}

// networkOf returns addr, an address of device, with its network.
func networkOf(device string, addr netip.Addr) (netip.Prefix, error) {
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return netip.Prefix{}, err
	}
	addrs, err := dev.Addrs()
	for _, a := range addrs {
		if p, perr := netip.ParsePrefix(a.String()); perr == nil && p.Addr() == addr {
			return p, nil
		}
	}
	return netip.Prefix{}, errors.Join(err, fmt.Errorf("%s is not an address of %s", addr, device))
}

// serve answers the requests that arrive at ln, and returns its address.
func (h *Listener) serve(ln net.Listener) string {
	at := ln.Addr().(*net.TCPAddr).AddrPort()
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog:    log.New(io.Discard, "", 0), // any client could fill a log with it
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	srv.SetKeepAlivesEnabled(false)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hosts, h.srv = hostsOf(at), srv
	// ends when srv is closed; Close waits for it.
	h.serving.Go(func() { srv.Serve(ln) })
	return at.String()
}

type connKey struct{}

// Close accepts no more requests, and returns when the accepted requests have their answers. Their server must end
// them.
func (h *Listener) Close() error {
	h.end()
	h.mu.Lock()
	srv := h.srv
	h.srv = nil
	h.mu.Unlock()
	if srv == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var err error
	if srv.Shutdown(ctx) != nil { // it has closed the listener and its unauthenticated connections
		err = srv.Close() // the connections of clients that do not read their answers
	}
	h.serving.Wait()
	h.flight.Wait()
	return err
}
