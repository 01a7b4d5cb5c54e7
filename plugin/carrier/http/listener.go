// SPDX-License-Identifier: Apache-2.0

// Package http is the carriers whose callers get the answer of a call in one piece, as JSON:
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

// Listener is the carrier for programs that speak HTTP and have no shim: POST /request, with a
// command in JSON, and what became of it in the answer. docs/http.md has the protocol.
//
// It is a net.Listener whose connections are calls. The port is on a bridge, so that others
// can reach it: what says that a request is the session's is its token and nothing else.
type Listener struct {
	*whole
	token string
	cwd   func() string // where a call is made whose caller does not say

	mu      sync.Mutex // guards the fields below
	hosts   []string   // what the port is called
	srv     *http.Server
	serving sync.WaitGroup
}

const (
	// asking is how long a caller waits for a person: a client's own patience is 300 seconds,
	// and it is to hear why.
	asking = 295 * time.Second
	// headerTimeout is how long a connection has for the header of its request, and again for the body.
	headerTimeout = 5 * time.Second
	// taking is how long it has to take the answer.
	taking = time.Minute
	// hangupInterval is how often a caller who waits is looked after.
	hangupInterval = 50 * time.Millisecond
	// closing is how long answers have to go out when the session ends.
	closing = 5 * time.Second
	// maxHeader and maxBody are how many bytes these may have.
	maxHeader = 16 << 10
	maxBody   = 256 << 10
)

// New returns a carrier that has no port yet. dir is a private directory for output.
// A request is the session's that has token; "" is none.
func New(dir, token string, cwd func() string) *Listener {
	h := &Listener{whole: newWhole(dir), token: token, cwd: cwd}
	h.name = "HTTP"
	return h
}

// ErrTaken says that another program has the port.
var ErrTaken = errors.New("the port is taken")

// Open listens at one of ports, the first that is free, and returns where. Only what
// arrives by the network interface device is heard, from an address of its network that is
// not addr: of all that could send a packet there, what is plugged in.
func (h *Listener) Open(device string, addr netip.Addr, ports ...uint16) (string, error) {
	near, err := networkOf(device, addr)
	if err != nil {
		return "", fmt.Errorf("listen for HTTP: %w", err)
	}
	err = ErrTaken
	for _, port := range ports {
		at := netip.AddrPortFrom(addr, port)
		var ln net.Listener
		if ln, err = listenOn(device, at); err == nil {
			return h.serve(&carrier.ConnLimiter{Listener: ln, Network: near}), nil
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: %s", ErrTaken, at)
			continue
		}
		break
	}
	return "", fmt.Errorf("listen for HTTP: %w", err)
}

// networkOf returns addr, which device has, with the network that it is of.
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
	return netip.Prefix{}, errors.Join(err, fmt.Errorf("%s is no address of %s", addr, device))
}

// serve answers what comes to ln, and returns its address.
func (h *Listener) serve(ln net.Listener) string {
	at := ln.Addr().(*net.TCPAddr).AddrPort()
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog:    log.New(io.Discard, "", 0), // anybody could fill a log with it
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

// Close takes no more requests, and returns when those that were accepted have their answers:
// whoever serves them has to end them.
func (h *Listener) Close() error {
	h.end()
	h.mu.Lock()
	srv := h.srv
	h.srv = nil
	h.mu.Unlock()
	if srv == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	var err error
	if srv.Shutdown(ctx) != nil { // which has closed the listener, and strangers with it
		err = srv.Close() // of those who do not take their answers
	}
	h.serving.Wait()
	h.flight.Wait()
	return err
}
