// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

import (
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// call is one call, from the request to the exit. The goroutine that reads the host's
// frames owns it; what others touch says so.
type call struct {
	env       []string
	kinds     [3]wire.FD
	how       [3]wire.Disposition
	host      host
	files     atomic.Pointer[files] // instead of host, when the call is made by files
	in        incoming
	tty       *terminal    // in pty mode; set before running is, then only read
	stdin     *stdin       // when 0 is pumped; set before running is, then only read
	asked     atomic.Bool  // host.fd is set, and the request has been sent
	running   atomic.Bool  // Started has come; signals are the command's from here on
	listening bool         // to signals
	sizes     sync.Mutex   // guards the order of Winsize frames
	writes    atomic.Int64 // odd while output is being written
	owed      int          // bytes of output written, and not yet given back as credit
}

func run(args, env []string) int {
	if relays(args) {
		return relayed(args)
	}
	c := &call{env: env}
	req := wire.Exec{Args: args, Env: env}
	req.Cwd = getcwd()
	riders := look(&req)
	c.kinds = req.FDs

	b := frame(&req)
	if len(b)-wire.HeaderLen > wire.MaxExec {
		return c.fail(wire.CodeRefused, "argument list too long", "")
	}
	dir := directory(env)
	sock, relayed, err := c.dial(dir)
	if err != nil {
		if at, rest := c.requests(dir, args); at != "" {
			req.Args = rest
			return c.byFiles(&req, dir, at)
		}
		return c.unanswered(dir, err)
	}
	if relayed {
		riders, b[wire.HeaderLen+wire.PassedAt] = nil, 0
	}
	c.host.fd, c.in.fd = sock, sock
	err = sendRequest(sock, b, riders)
	if err != nil && err != syscall.EPIPE && err != syscall.ECONNRESET {
		return c.fail(wire.CodeFailed, "send the request: "+err.Error(), "")
	}
	c.asked.Store(true)
	// A host that hung up before all of it was sent may have said why.
	c.listen()
	return c.serve()
}

// frame encodes the request into memory taken once.
func frame(req *wire.Exec) []byte {
	n := wire.HeaderLen + 64 + len(req.Cwd)
	for _, list := range [...][]string{req.Args, req.Env} {
		for _, s := range list {
			n += 4 + len(s)
		}
	}
	b := req.Append(make([]byte, wire.HeaderLen, n))
	wire.AppendHeader(b[:0], wire.KindExec, len(b)-wire.HeaderLen)
	return b
}
