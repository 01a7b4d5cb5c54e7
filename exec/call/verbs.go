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

// Name is the name under which a shim calls hostexec itself instead of a command. The words come to the host, which
// parses them and renders all text.
const Name = "hostexec"

// Verbs answers the calls of hostexec itself, such as hostexec ps.
type Verbs interface {
	// Names returns the verbs, for a hint about a typing error.
	Names() []string
	// Serve answers c: it returns after one of Print, PrintFailure, Exit, Fail, Run, or a method of
	// Shells that answers.
	Serve(ctx context.Context, c *VerbCall) error
}

// VerbCall is a call of hostexec itself, as its verbs see it.
type VerbCall struct {
	x        *exchange
	lifetime func(keep bool) context.Context // of a job that the call starts
}

// verb reports whether the call is of hostexec itself.
func (r *request) verb() bool { return r.Args[0] == Name }

// Words returns the words after hostexec. The Verbs must not change them.
func (c *VerbCall) Words() []string { return c.x.req.Args[1:] }

// Version returns the version of hostexec on the host.
func (c *VerbCall) Version() string { return c.x.server.Version }

// Policy returns the policy that decides on calls now.
func (c *VerbCall) Policy() *policy.Policy { return c.x.server.now().Policy }

// nonStreaming is a connection whose caller gets one answer, and cannot act on a call until then.
type nonStreaming interface {
	// NonStreamingCarrier returns the name of such a carrier for people, or "" for other connections.
	NonStreamingCarrier() string
}

// NonStreamingCarrier returns the name of the caller's carrier if its callers get one answer, and cannot signal
// a call that runs. Otherwise it returns "".
func (c *VerbCall) NonStreamingCarrier() string {
	if conn, ok := c.x.peer.conn.(nonStreaming); ok {
		return conn.NonStreamingCarrier()
	}
	return ""
}

// Enter counts the call among the verbs in flight (limit.Verbs). A text for a shell counts among the calls, too. Enter
// reports false if there are too many. Then the caller has its answer.
func (c *VerbCall) Enter(ctx context.Context) (entered bool, err error) {
	return c.x.enter(ctx, limit.Verbs)
}

// Open starts the answer of a verb that writes: the shim copies the data to its own stdout and stderr. Writes
// block until the caller reads.
func (c *VerbCall) Open() (stdout, stderr io.Writer, err error) {
	if err := c.x.begin(); err != nil {
		return nil, nil, err
	}
	return c.x.peer.writer(wire.KindStdout), c.x.peer.writer(wire.KindStderr), nil
}

// Interruptible returns a context that a fatal signal to the caller, such as INT, cancels; Interrupted
// then returns the answer. Call it after Open. stop returns when signals are no longer read.
func (c *VerbCall) Interruptible(ctx context.Context) (within context.Context, stop func()) {
	return c.x.peer.interruptible(ctx)
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
func (c *VerbCall) Print(text []byte) error {
	return c.x.print(wire.Exit{Outcome: wire.Exited}, text)
}

// PrintFailure answers with text on the caller's stdout, and ends the call with f.
func (c *VerbCall) PrintFailure(text []byte, f Failure) error {
	return c.x.print(f.frame(c.x.peer.json), text)
}

// Exit ends the call with e.
func (c *VerbCall) Exit(e wire.Exit) error { return c.x.peer.exit(e) }

// Fail ends the call with f.
func (c *VerbCall) Fail(f Failure) error { return c.x.peer.end(f) }

// print sends text to the caller's stdout, through the shim, and then e.
func (x *exchange) print(e wire.Exit, text []byte) error {
	if len(text) > 0 {
		if err := x.begin(); err != nil {
			return err
		}
		if _, err := io.Copy(x.peer.writer(wire.KindStdout), bytes.NewReader(text)); err != nil {
			return err
		}
	}
	return x.peer.exit(e)
}

// begin tells the shim to expect output.
func (x *exchange) begin() error {
	x.req.close() // the shim writes to its own descriptors
	started := wire.Started{FDs: [3]wire.Disposition{wire.Null, wire.Copied, wire.Copied}, Request: x.req.ID}
	return x.peer.send(wire.KindStarted, started.Append(nil))
}
