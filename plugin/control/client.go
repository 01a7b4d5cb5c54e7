// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// ErrNoWatcher says that no watcher serves the session.
var ErrNoWatcher = errors.New("no watcher serves the session")

// ErrCalled says that this process is a command that a container called.
var ErrCalled = errors.New("a command that a container called may not answer for you")

// ErrNotRunning says that no command runs for a request.
var ErrNotRunning = errors.New("no command runs for that request")

// Client talks to one session's watcher.
type Client struct{ http http.Client }

// Dial returns a client of the watcher of the session whose folder is dir. It connects
// with each request; ErrNoWatcher comes from those. Close it when done.
func Dial(dir string) *Client {
	return &Client{http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return state.Dial(dir, filepath.Base(state.ControlSock(dir)))
		},
	}}}
}

// Close drops the connections that are kept.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks what the session is doing.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var st Status
	body, err := c.do(ctx, http.MethodGet, "/session", nil, http.StatusOK)
	if err != nil {
		return st, err
	}
	if err := json.Unmarshal(body, &st); err != nil {
		return st, fmt.Errorf("ask the watcher: %w", err)
	}
	return st, nil
}

// Stop asks the watcher to end. It returns when the watcher has agreed to.
func (c *Client) Stop(ctx context.Context) error {
	_, err := c.do(ctx, http.MethodPost, "/stop", nil, http.StatusAccepted)
	return err
}

// Kill ends the command that runs for request id, its whole tree. Its caller learns of
// which signal it died. The error is ErrNotRunning when there is none.
func (c *Client) Kill(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodPost, "/kill/"+id, nil, http.StatusOK)
	if errors.Is(err, approval.ErrUnknown) { // what 404 means for questions
		return ErrNotRunning
	}
	return err
}

// maxBody is how much of an answer is read: five questions of two megabytes each, quoted.
const maxBody = 64 << 20

func (c *Client) do(ctx context.Context, method, path string, body []byte, want int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://watcher"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.explain(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		return nil, unexpected(resp)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("ask the watcher: %w", err)
	}
	return b, nil
}

func (c *Client) explain(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		return ErrNoWatcher
	}
	return fmt.Errorf("ask the watcher: %w", err)
}

// unexpected says what an answer means that is not the one hoped for. A watcher that does
// not know the question at all answers it in plain text.
func unexpected(resp *http.Response) error {
	ours := resp.Header.Get("Content-Type") == "application/json"
	switch {
	case ours && resp.StatusCode == http.StatusNotFound:
		return approval.ErrUnknown
	case ours && resp.StatusCode == http.StatusConflict:
		return approval.ErrChanged
	case ours && resp.StatusCode == http.StatusForbidden:
		return ErrCalled
	case ours:
		return trouble(resp)
	}
	return fmt.Errorf("ask the watcher: it answered %s: it may be of another version of hostexec: docker hostexec stop, then resume", resp.Status)
}

// trouble is what the watcher says went wrong.
func trouble(resp *http.Response) error {
	var p problem
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDecision)).Decode(&p); err != nil || p.Error == "" {
		return fmt.Errorf("ask the watcher: it answered %s", resp.Status)
	}
	if p.Error == approval.ErrTerms.Error() {
		return approval.ErrTerms
	}
	return fmt.Errorf("the watcher answered %s: %s", resp.Status, printable(p.Error))
}
