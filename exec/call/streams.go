// SPDX-License-Identifier: Apache-2.0

package call

import (
	"io"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// streams joins the command's stdio to the caller's, each descriptor in its own way.
func (p *peer) streams(req *request) executor.Streams {
	how := dispositions(req)
	s := executor.Streams{
		FD:      req.passed,
		SameOut: req.sameOut && how[1] == wire.Copied && how[2] == wire.Copied,
		Resize:  p.resize,
		Signals: p.signals,
		Started: func(int) {
			started := wire.Started{FDs: how, Request: req.ID}
			p.send(wire.KindStarted, started.Append(nil))
			req.close() // the command has its own now
		},
		Stopped:  func() { p.send(wire.KindStopped, nil) },
		InClosed: func() { p.send(wire.KindStdinClosed, nil) },
	}
	if how[0].Copies() {
		s.In = p.in
	}
	if how[1].Copies() {
		s.Out = p.writer(wire.KindStdout)
	}
	if how[2] == wire.Copied && !s.SameOut {
		s.Err = p.writer(wire.KindStderr)
	}
	if req.tty() {
		w := executor.Winsize(req.winsize)
		s.TTY = &w
		if how[2] == wire.Null {
			s.Err = io.Discard // nil would mean the terminal
		}
	}
	return s
}

// dispositions returns how each of the caller's descriptors is connected.
func dispositions(req *request) (how [3]wire.Disposition) {
	for i, kind := range req.fds {
		switch {
		case req.passed[i] >= 0:
			how[i] = wire.Taken
		case kind == wire.FDNull:
			how[i] = wire.Null
		case kind == wire.FDTTY && req.tty():
			how[i] = wire.PTY
		default:
			how[i] = wire.Copied
		}
	}
	return how
}
