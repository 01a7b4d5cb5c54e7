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

// request is one call: what its caller sent, and what the steps of the call have set. It has many fields because it is
// the record of one call.
type request struct {
	policy.Request
	env     []string
	fds     [3]wire.FD
	passed  [3]int // received descriptors, or -1
	sameOut bool
	winsize wire.Winsize

	shell           *shellCall    // if it is a command for a shell
	git             *gitCall      // if it is of policy.GitPush
	deadline        time.Time     // set by the caller; zero: none
	limit           time.Duration // from the start to the deadline
	approvalTimeout time.Duration // the time for which the caller waits for a person; 0: the queue's
	timeout         string        // --timeout, as it was typed
	detached        bool          // it continues without its caller
	keep            bool          // and without its container
	awaitsPort      bool          // its caller waits until it listens on a port

	stdinWithheld bool   // the caller has a stdin, but the command gets none
	captured      []byte // stdin, if it was read before the command runs; otherwise nil
	holding       *reservation
}

// fdReceiver is a connection that can receive descriptors.
type fdReceiver interface {
	// Passed hands over the descriptors that came with the first bytes. They belong to the caller of Passed, which
	// closes them.
	Passed() []int
}

// readRequest reads the request: one frame, with a deadline and a size limit. It tells a caller that still
// listens what was wrong.
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
		known := &request{Request: policy.Request{ID: newID(), Args: msg.Args}}
		return nil, fmt.Errorf("%w: %w", ErrNoRequest, errors.Join(over, (&exchange{server: s, peer: p, req: known}).overArgv(over)))
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

// overArgv answers a request for which there is no memory. Only its beginning is known.
func (x *exchange) overArgv(over *limit.Error) error {
	e := overLimit(x.req, &policy.Verdict{}, over)
	sc := x.server.config.Load()
	if sc == nil {
		return x.peer.end(e)
	}
	ctx, cancel := context.WithTimeout(context.Background(), refusalDelay)
	defer cancel()
	return errors.Join(x.deny(ctx, refusedByLimit(sc, over), over.Error()), x.peer.end(e))
}

// release gives back the reservation of the request, unless it was detached.
func (r *request) release() {
	if r.holding != nil {
		r.holding.release()
	}
}

// detachReservation returns the reservation of the request. The caller releases it later.
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
		return wire.Exec{Args: beginning(b)}, err
	}
	strings, err := wire.CheckExec(b)
	if err != nil {
		return wire.Exec{}, err
	}
	// Many short strings take more memory than their bytes, so it is reserved before the lists exist.
	if err := held.wait(context.Background(), limit.Argv, stringOverhead*int64(strings)); err != nil {
		return wire.Exec{Args: beginning(b)}, err
	}
	return wire.ParseExec(b)
}

// beginning returns the name of the command in b, the beginning of a request, as its only argument. It returns nothing
// if b is too short to contain the name.
func beginning(b string) []string {
	if arg0 := wire.Arg0(b); arg0 != "" {
		return []string{path.Base(arg0)}
	}
	return nil
}

// stringOverhead is the size of a string besides its bytes.
const stringOverhead = 16

// newRequest makes a request of msg. It takes over fds only if it returns no error.
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
	// The strings of msg refer to the frame and would keep all of it in memory while the command runs.
	// The smaller part is copied, so that the frame holds little else.
	rest := req.Args
	if size(req.Args) > size(req.env) {
		rest = req.env
	}
	for i, s := range rest {
		rest[i] = strings.Clone(s)
	}
	req.Cwd = strings.Clone(req.Cwd)
	// Only the base name of argv[0] counts, wherever on PATH the shim was found.
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

// tty reports whether the call gets a terminal of the host: the caller's stdin and stdout both are
// terminals.
func (r *request) tty() bool {
	return r.fds[0] == wire.FDTTY && r.fds[1] == wire.FDTTY && r.passed[0] < 0 && r.passed[1] < 0
}

// close closes the passed descriptors. A second call does nothing.
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
