// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Name is the name under which a shim calls hostexec itself instead of a command. The shim parses
// nothing: the words come to the host, and the host renders all text.
const Name = "hostexec"

// Verbs answers the calls of hostexec itself, such as hostexec ps.
type Verbs interface {
	// Names returns the verbs that run no command. They have a limit of their own.
	Names() []string
	// Serve answers c: it returns after one of Print, PrintFailure, Exit, Fail, Run, or a method of
	// Shells that answers.
	Serve(ctx context.Context, c *Call) error
}

// Call is a call of hostexec itself, as its verbs see it.
type Call struct {
	s        *Server
	p        *peer
	req      *request
	lifetime func(keep bool) context.Context // of a job that the call starts
}

// answerVerb answers a call of hostexec itself.
func (s *Server) answerVerb(ctx context.Context, c *Call) error {
	if s.Verbs == nil {
		return c.Fail(Failure{Status: StatusUnsupported, Reason: "this session has no verbs", Hint: "call the command itself"})
	}
	return s.Verbs.Serve(ctx, c)
}

// verbNames returns the verbs that run no command.
func (s *Server) verbNames() []string {
	if s.Verbs == nil {
		return nil
	}
	return s.Verbs.Names()
}

// verb reports whether the call is of hostexec itself.
func (r *request) verb() bool { return r.Args[0] == Name }

// Words returns what follows hostexec. The caller may read them, and not change them.
func (c *Call) Words() []string { return c.req.Args[1:] }

// Version returns the version of hostexec on the host.
func (c *Call) Version() string { return c.s.Version }

// Policy returns the policy that decides on calls now.
func (c *Call) Policy() *policy.Policy { return c.s.now().Policy }

// oneAnswer is a connection whose caller gets one answer, and can do nothing about a call until then.
type oneAnswer interface {
	// OneAnswer returns what such a caller is called by people, or "" where it is none.
	OneAnswer() string
}

// OneAnswer returns the name of the caller's carrier if its callers get one answer, and cannot signal
// a call that runs. Otherwise it returns "".
func (c *Call) OneAnswer() string {
	if conn, ok := c.p.conn.(oneAnswer); ok {
		return conn.OneAnswer()
	}
	return ""
}

// Enter counts the call among the verbs in flight. It reports false if there are too many. Then the
// caller has its answer.
func (c *Call) Enter(ctx context.Context) (entered bool, err error) {
	return c.s.enter(ctx, c.p, c.req, limit.Verbs)
}

// Open starts the answer of a verb that writes: the shim copies what is written to its own stdout and
// stderr. Writes wait until the caller takes them.
func (c *Call) Open() (stdout, stderr io.Writer, err error) {
	if err := c.s.begin(c.p, c.req); err != nil {
		return nil, nil, err
	}
	return c.p.writer(wire.KindStdout), c.p.writer(wire.KindStderr), nil
}

// Interruptible returns a context that a deadly signal to the caller cancels; Interrupted then
// returns the answer. Call it after Open. stop returns when signals are no longer read.
func (c *Call) Interruptible(ctx context.Context) (within context.Context, stop func()) {
	return c.p.interruptible(ctx)
}

// Interrupted returns how the call ends if a signal to the caller has cancelled ctx.
func Interrupted(ctx context.Context) (e wire.Exit, ok bool) {
	var by *interrupted
	if errors.As(context.Cause(ctx), &by) {
		return by.exit(), true
	}
	return wire.Exit{}, false
}

// Print answers with text on the caller's stdout, and the exit code 0.
func (c *Call) Print(text []byte) error {
	return c.s.print(c.p, c.req, wire.Exit{Outcome: wire.Exited}, text)
}

// PrintFailure answers with text on the caller's stdout, and ends the call with f.
func (c *Call) PrintFailure(text []byte, f Failure) error {
	return c.s.print(c.p, c.req, f.frame(c.p.json), text)
}

// Exit ends the call with e.
func (c *Call) Exit(e wire.Exit) error { return c.p.exit(e) }

// Fail ends the call with f.
func (c *Call) Fail(f Failure) error { return c.p.end(f) }

// print sends text to the caller's stdout, through the shim, and then e.
func (s *Server) print(p *peer, req *request, e wire.Exit, text []byte) error {
	if len(text) > 0 {
		if err := s.begin(p, req); err != nil {
			return err
		}
		if _, err := io.Copy(p.writer(wire.KindStdout), bytes.NewReader(text)); err != nil {
			return err
		}
	}
	return p.exit(e)
}

// begin has the shim take what is to be printed.
func (s *Server) begin(p *peer, req *request) error {
	req.close() // the shim writes to its own
	started := wire.Started{FDs: [3]wire.Disposition{wire.Null, wire.Pumped, wire.Pumped}, Request: req.ID}
	return p.send(wire.KindStarted, started.Append(nil))
}
