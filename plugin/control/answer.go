// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/approval"
)

// Pending returns the waiting questions. Long texts are cut; Complete returns them completely.
func (c *Client) Pending(ctx context.Context) ([]Question, error) {
	return get[[]Question](ctx, c, "/pending")
}

// Approve approves the calls that q shows and, on the terms t, later calls with the same question. The zero Terms mean
// once. The error is approval.ErrUnknown or approval.ErrChanged if q does not wait any more or has changed. With terms,
// it can also be approval.ErrTerms, approval.ErrNoInputs, *approval.VaryError, or why the grant cannot be stored.
func (c *Client) Approve(ctx context.Context, q Question, t approval.Terms) error {
	d := Decision{Digest: q.Digest, Waiting: q.Waiting, Times: t.Times, Always: t.Always, Unchanged: t.Unchanged, Vary: t.Vary}
	if t.For != 0 {
		d.For = t.For.String()
	}
	return c.decide(ctx, "/approve/", q, d)
}

// Deny refuses q and, with always, the same question for this session. The error is approval.ErrUnknown or
// approval.ErrChanged, or why the denial cannot be stored.
func (c *Client) Deny(ctx context.Context, q Question, reason string, always bool) error {
	return c.decide(ctx, "/deny/", q, Decision{Digest: q.Digest, Waiting: q.Waiting, Reason: reason, Always: always})
}

func (c *Client) decide(ctx context.Context, path string, q Question, d Decision) error {
	body, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("answer request %s: %w", q.ID, err)
	}
	_, err = c.doLimited(ctx, http.MethodPost, path+q.ID, body, http.StatusOK)
	return err
}

// Watch calls show with the waiting questions, now and after each change, until ctx is done or the watcher ends. While
// Watch runs, the watcher counts this client as an approver.
func (c *Client) Watch(ctx context.Context, show func([]Question)) error {
	events, err := c.open(ctx, http.MethodGet, "/events", nil, http.StatusOK)
	if err != nil {
		return err
	}
	defer events.Close()
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, maxReply)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var all []Question
		if err := json.Unmarshal([]byte(data), &all); err != nil {
			return badReply(err)
		}
		show(all)
	}
	return lines.Err()
}
