// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"path"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// request is one call as it was heard: parsed once, then only read.
type request struct {
	policy.Request
	env     []string
	fds     [3]wire.FD
	passed  [3]int // descriptors of ours that ride along, or -1
	sameOut bool
	winsize wire.Winsize

	shell           *shellCall    // where it is a command for a shell
	deadline        time.Time     // of the caller's own; zero when there is none
	limit           time.Duration // until then, when it was heard
	approvalTimeout time.Duration // of the caller's with a person who is asked; 0: the queue's alone
	timeout         string        // --timeout, as it was typed
	detached        bool          // it goes on without its caller
	keep            bool          // and without its container

	stdinWithheld bool   // the caller has a stdin, but the command gets none
	captured      []byte // of stdin, before it runs; nil when nobody asked for that
	holding       *reservation
}

// fdReceiver is a connection over which descriptors can come.
type fdReceiver interface {
	// Passed hands over the descriptors that came with the first bytes. They are the
	// caller's to close.
	Passed() []int
}

// readRequest reads the request: one frame, a deadline, a cap. The caller is told what was
// wrong with it, if it still listens.
func (s *Server) readRequest(p *peer) (*request, error) {
	in := s.newConns.enter(p.conn)
	held := s.newReservation()
	msg, err := readExec(in, held)
	s.newConns.leave(p.conn)

	var fds []int
	if c, ok := p.conn.(fdReceiver); ok {
		fds = c.Passed()
	}
	var req *request
	if err == nil {
		req, err = newRequest(msg, fds)
	}
	var over *limit.Error
	if errors.As(err, &over) {
		closeAll(fds)
		held.release()
		return nil, fmt.Errorf("%w: %w", ErrNoRequest, errors.Join(over, s.overArgv(p, msg, over)))
	}
	if err != nil {
		held.release()
		closeAll(fds)
		if !errors.Is(err, io.EOF) {
			p.end(badRequest(err, s.Version))
		}
		return nil, fmt.Errorf("%w: %w", ErrNoRequest, err)
	}
	p.json = wantsJSON(req.env)
	req.holding = held
	return req, nil
}

// overArgv answers a request for which there is no memory, of which the beginning is known.
func (s *Server) overArgv(p *peer, msg wire.Exec, over *limit.Error) error {
	req := &request{Request: policy.Request{ID: newID(), Args: msg.Args}}
	e := overLimit(req, policy.Verdict{}, over)
	sc := s.state.Load()
	if sc == nil {
		return p.end(e)
	}
	ctx, cancel := context.WithTimeout(context.Background(), slowing)
	defer cancel()
	return errors.Join(s.deny(ctx, limited(sc, over), req, over.Error()), p.end(e))
}

// release gives back what the request holds, unless it was lent.
func (r *request) release() {
	if r.holding != nil {
		r.holding.release()
	}
}

// detachReservation returns what the request holds, to be released later.
func (r *request) detachReservation() *reservation {
	h := r.holding
	r.holding = nil
	return h
}

func readExec(r io.Reader, held *reservation) (wire.Exec, error) {
	var head [wire.HeaderLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return wire.Exec{}, err
	}
	kind, n, err := wire.ParseHeader(head[:])
	if err != nil {
		return wire.Exec{}, err
	}
	if kind != wire.KindExec {
		return wire.Exec{}, fmt.Errorf("the first frame is of kind %d, not a request", kind)
	}
	b, err := readCounted(r, n, held)
	if err != nil {
		return wire.Exec{Args: []string{path.Base(wire.Arg0(b))}}, err
	}
	msg, err := wire.ParseExec(b)
	if err == nil {
		err = held.take(limit.Argv, header*int64(len(msg.Args)+len(msg.Env))) // many short ones take more
	}
	return msg, err
}

// header is what a string takes besides its bytes.
const header = 16

// newRequest freezes msg. It takes fds over only if it returns no error.
func newRequest(msg wire.Exec, fds []int) (*request, error) {
	if bits.OnesCount8(msg.Passed) != len(fds) {
		return nil, fmt.Errorf("%d descriptors came, %d were announced", len(fds), bits.OnesCount8(msg.Passed))
	}
	req := &request{
		Request: policy.Request{ID: newID(), Args: msg.Args, Cwd: msg.Cwd},
		env:     msg.Env,
		fds:     msg.FDs,
		passed:  [3]int{-1, -1, -1},
		sameOut: msg.SameOut,
		winsize: msg.Winsize,
	}
	// The strings of msg are parts of the frame: copied, they let go of it and of the rest in
	// it, for as long as the command runs. Where arguments are most of it the rest is copied.
	rest := req.Args
	if size(req.Args) > size(req.env) {
		rest = req.env
	}
	for i, s := range rest {
		rest[i] = strings.Clone(s)
	}
	req.Cwd = strings.Clone(req.Cwd)
	// A shim is called by the name of its command, wherever on PATH it was found.
	req.Args[0] = path.Base(req.Args[0])
	for i := range req.passed {
		if msg.Passed&(1<<i) == 0 {
			continue
		}
		if err := checkFD(fds[0], i, msg.FDs[i]); err != nil {
			return nil, fmt.Errorf("descriptor %d: %w", i, err)
		}
		req.passed[i], fds = fds[0], fds[1:]
	}
	return req, nil
}

// tty reports whether the call gets a terminal of the host's: the caller's stdin and
// stdout both are one.
func (r *request) tty() bool {
	return r.fds[0] == wire.FDTTY && r.fds[1] == wire.FDTTY && r.passed[0] < 0 && r.passed[1] < 0
}

// close closes the descriptors that rode along. A second call does nothing.
func (r *request) close() {
	for i, fd := range r.passed {
		if fd >= 0 {
			closeAll([]int{fd})
			r.passed[i] = -1
		}
	}
}

// newID returns 16 hex digits from the kernel's generator.
func newID() string {
	return names.RandomHex(8)
}
