// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// call is one call, from the request to the exit. The goroutine that reads the host's frames owns it.
// Comments mark the fields that other goroutines use. It has more methods and fields than other types: the shim is
// one call, and a type for each part would make the program larger.
type call struct {
	env             []string
	kinds           [3]wire.FD
	how             [3]wire.Disposition
	host            host
	files           atomic.Pointer[files] // used instead of host for a call by files
	in              frameReader
	tty             *terminal              // in pty mode; set before running, then only read
	stdin           *stdin                 // if 0 is copied; set before running, then only read
	asked           atomic.Bool            // host.fd is set and the request is sent
	running         atomic.Bool            // Started was received; signals go to the command from then on
	listening       bool                   // signals are subscribed
	ctty            int                    // the controlling terminal, or -1; used by the signal goroutine only
	stopCommandOnly atomic.Bool            // the last TSTP was for the command only
	sent            atomic.Int64           // the last forwarded signal
	sizes           sync.Mutex             // held while a Winsize frame is made, so that frames keep their order
	writes          atomic.Int64           // odd while output is being written
	frames          atomic.Int64           // number of frames received from the host
	fallback        atomic.Pointer[string] // the beginning of an object, which fail completes
	uncredited      int                    // bytes of written output that were not yet returned as credit
}

func run(args, env []string) int {
	if isRelay(args) {
		if len(args) > 4 && args[3] == "leave" {
			return removeShims(args[0], args[2], args[4], args[5:])
		}
		return runRelay(args[2])
	}
	c := &call{env: env}
	req := wire.Exec{Args: args, Cwd: getcwd(), Env: env}
	passed := inspectDescriptors(&req)
	c.kinds = req.FDs
	limit := c.limit(args)
	if limit > 0 {
		passed = keepOutput(&req, passed)
	}
	b := frame(&req)
	if len(b)-wire.HeaderLen > wire.MaxExec {
		return c.fail(wire.CodeRefused, "argument list too long", "")
	}
	if limit > 0 {
		// Ends with the process; the main goroutine may wait for the host forever.
		go c.expire(limit)
		continueAfter(limit + finishTimeout)
	}
	dir := directory(env)
	sock, relayed, err := c.dial(dir)
	if err != nil {
		if at, rest := c.requests(dir, args); at != "" {
			req.Args = rest
			return c.byFiles(&req, dir, at)
		}
		return c.unanswered(err)
	}
	if relayed {
		passed, b[wire.HeaderLen+wire.PassedAt] = nil, 0
	}
	c.host.fd, c.in.fd = sock, sock
	err = sendRequest(sock, b, passed)
	if err != nil && err != syscall.EPIPE && err != syscall.ECONNRESET {
		return c.fail(wire.CodeFailed, "send the request: "+err.Error(), "")
	}
	c.asked.Store(true)
	// The host may have sent a reason before it closed the connection.
	c.listen()
	return c.serve()
}

// getcwd returns the working directory, or "" if it is unreachable; the host refuses such a caller.
// syscall.Getwd has a buffer of 4 KiB on the stack, and the stack would have to grow for it in each call.
func getcwd() string {
	for size := 512; size <= 1<<16; size *= 8 {
		b := make([]byte, size)
		n, err := syscall.Getcwd(b)
		if err == nil && n > 1 && b[0] == '/' { // excludes "(unreachable)"
			return string(b[:n-1])
		}
		if err != syscall.ERANGE {
			return ""
		}
	}
	return ""
}

// frame encodes the request with one allocation.
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

// sendRequest sends b, and the descriptors with its first byte. If the kernel refuses the descriptors, it
// sends b without them: the host then copies the bytes.
func sendRequest(sock int, b []byte, passed []int) error {
	var oob []byte
	if len(passed) > 0 {
		oob = syscall.UnixRights(passed...)
	}
	for {
		n, err := syscall.SendmsgN(sock, b, oob, nil, syscall.MSG_NOSIGNAL)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.ETOOMANYREFS && oob != nil { // the limit is per user id, and other processes share it
			oob, b[wire.HeaderLen+wire.PassedAt] = nil, 0
			continue
		}
		if err != nil {
			return err
		}
		return writeAll(sock, b[n:])
	}
}
