// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// ErrNoWatcher means that no watcher serves the session.
var ErrNoWatcher = errors.New("no watcher serves the session")

// SuspendedError means that the watcher does not answer because a signal has suspended it.
type SuspendedError struct{ PID int }

func (e *SuspendedError) Error() string {
	return fmt.Sprintf("the watcher (process %d) was suspended by a signal", e.PID)
}

// Hint returns the command that continues the watcher.
func (e *SuspendedError) Hint() string { return fmt.Sprintf("kill -CONT %d", e.PID) }

// SilentError means that the watcher has accepted a connection, and does not answer.
type SilentError struct{ session string }

func (e *SilentError) Error() string {
	return fmt.Sprintf("the watcher does not answer within %s", ReplyTimeout)
}

// Hint returns the command that shows what the watcher does.
func (e *SilentError) Hint() string { return "docker hostexec logs " + e.session }

// OfSession names the session in err, if err means that its watcher does not answer.
func OfSession(session string, err error) error {
	if errors.As(err, new(*SuspendedError)) || errors.As(err, new(*SilentError)) {
		return fmt.Errorf("session %s: %w", session, err)
	}
	return err
}

// ErrStartedByCall means that this process was started by a call from a container.
var ErrStartedByCall = errors.New("a command that a container called may not answer for you")

// ErrNotRunning means that no command runs for a request.
var ErrNotRunning = errors.New("no command runs for that request")

// Client sends requests to the watcher of one session. It has a method for almost every request of the API, and so more
// methods than other types.
type Client struct {
	dir  string // of the session
	http http.Client
	pid  atomic.Int64 // the watcher's, from the last connection; 0 if the system does not report it
}

// Dial returns a client for the watcher of the session in directory dir. Requests, not Dial, open connections, so they
// return ErrNoWatcher. The caller must close the client.
func Dial(dir string) *Client {
	c := &Client{dir: dir}
	c.http.Transport = &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			conn, err := state.Dial(dir, filepath.Base(state.ControlSock(dir)))
			if err != nil {
				return nil, err
			}
			p, ok := peerOf(conn)
			if ok && suspended(p.pid) {
				return nil, errors.Join(&SuspendedError{p.pid}, conn.Close())
			}
			c.pid.Store(int64(p.pid))
			return conn, nil
		},
	}
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status returns the state of the session.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/session")
}

// AgentRules returns what an agent should know about the session's policy, in Markdown. It is empty until the session
// can serve calls.
func (c *Client) AgentRules(ctx context.Context) (string, error) {
	return get[string](ctx, c, "/agents")
}

// Stop asks the watcher to end. Processes get grace between TERM and KILL; negative means the default.
// Stop returns when the watcher has accepted.
func (c *Client) Stop(ctx context.Context, grace time.Duration) error {
	_, err := c.do(ctx, http.MethodPost, "/stop?grace="+grace.String(), nil, http.StatusAccepted)
	return err
}

// Kill ends the process tree of the command that runs for request id. The caller of the command gets the signal's exit
// status. If the command has ended, Kill ends the processes that it has left. The error is ErrNotRunning if there are
// none.
func (c *Client) Kill(ctx context.Context, id string) error {
	if err := c.ping(ctx); err != nil {
		return err
	}
	_, err := c.do(ctx, http.MethodPost, "/kill/"+id, nil, http.StatusOK)
	if errors.Is(err, approval.ErrUnknown) { // do returns it for status 404
		return ErrNotRunning
	}
	return err
}

// maxReply is the maximum size of a reply in bytes. Texts in lists are cut, so a list of all processes of
// a host is smaller.
const maxReply = 1 << 30

// errTooLong means that a reply is longer than maxReply. The client never uses a truncated reply.
var errTooLong = fmt.Errorf("the reply is longer than %d MiB", maxReply>>20)

// badReply wraps an error about an invalid or incomplete reply.
func badReply(err error) error { return fmt.Errorf("read the watcher's reply: %w", err) }

// open sends a request and returns the body of the reply, which must have the status want. The caller closes it.
func (c *Client) open(ctx context.Context, method, path string, body []byte, want int) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://watcher"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.explainError(ctx, err)
	}
	if resp.StatusCode != want {
		defer resp.Body.Close()
		return nil, statusError(resp)
	}
	return resp.Body, nil
}

// errSilent is the cause of a context that ends after ReplyTimeout.
var errSilent = errors.New("no reply")

// withReplyTimeout returns a context for requests that the watcher answers at once.
func withReplyTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, ReplyTimeout, errSilent)
}

// ping returns an error that names the session, unless the watcher answers requests. It comes before a request whose
// answer may take long, and which therefore has no time limit.
func (c *Client) ping(ctx context.Context) error {
	ctx, cancel := withReplyTimeout(ctx)
	defer cancel()
	_, err := c.Status(ctx)
	return OfSession(filepath.Base(c.dir), err)
}

// doLimited is like do, with ReplyTimeout as a further limit.
func (c *Client) doLimited(ctx context.Context, method, path string, body []byte, want int) ([]byte, error) {
	ctx, cancel := withReplyTimeout(ctx)
	defer cancel()
	return c.do(ctx, method, path, body, want)
}

// do is like open, and reads the whole body.
func (c *Client) do(ctx context.Context, method, path string, body []byte, want int) ([]byte, error) {
	reply, err := c.open(ctx, method, path, body, want)
	if err != nil {
		return nil, err
	}
	defer reply.Close()
	b, err := io.ReadAll(io.LimitReader(reply, maxReply+1))
	if err == nil && len(b) > maxReply {
		err = errTooLong
	}
	if err != nil {
		return nil, cmp.Or(c.unanswered(ctx), badReply(err))
	}
	return b, nil
}

// get requests path and decodes the reply.
func get[T any](ctx context.Context, c *Client, path string) (v T, err error) {
	body, err := c.do(ctx, http.MethodGet, path, nil, http.StatusOK)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return v, badReply(err)
	}
	return v, nil
}

// unanswered returns why the watcher does not answer the request of ctx, or nil.
func (c *Client) unanswered(ctx context.Context) error {
	if pid := int(c.pid.Load()); pid > 0 && suspended(pid) { // it was suspended after it had accepted the connection
		return &SuspendedError{pid}
	}
	if errors.Is(context.Cause(ctx), errSilent) {
		return &SilentError{filepath.Base(c.dir)}
	}
	return nil
}

func (c *Client) explainError(ctx context.Context, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		return ErrNoWatcher
	}
	if halted := (*SuspendedError)(nil); errors.As(err, &halted) {
		return halted
	}
	return cmp.Or(c.unanswered(ctx), fmt.Errorf("ask the watcher: %w", err))
}

// statusError returns the error for an unexpected status. A watcher that does not know the path answers in
// plain text.
func statusError(resp *http.Response) error {
	fromWatcher := resp.Header.Get("Content-Type") == "application/json"
	switch {
	case fromWatcher && resp.StatusCode == http.StatusNotFound:
		return approval.ErrUnknown
	case fromWatcher && resp.StatusCode == http.StatusConflict:
		return approval.ErrChanged
	case fromWatcher && resp.StatusCode == http.StatusForbidden:
		return ErrStartedByCall
	case fromWatcher:
		return replyError(resp)
	}
	return fmt.Errorf("ask the watcher: it answered %s: it may be of another version of hostexec: docker hostexec stop, then resume", resp.Status)
}

// replyError returns the error text of the watcher's reply.
func replyError(resp *http.Response) error {
	var p problem
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDecision)).Decode(&p); err != nil || p.Error == "" {
		return fmt.Errorf("ask the watcher: it answered %s", resp.Status)
	}
	if p.Error == approval.ErrTerms.Error() {
		return approval.ErrTerms
	}
	if p.Error == approval.ErrNoInputs.Error() {
		return approval.ErrNoInputs
	}
	if resp.StatusCode == http.StatusBadRequest {
		return &approval.VaryError{Reason: names.Printable(p.Error)}
	}
	return errors.New(names.Printable(p.Error))
}
