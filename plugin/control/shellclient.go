// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/docker-hostexec/hostexec/exec/shell"
)

// Shells returns the session's shells.
func (c *Client) Shells(ctx context.Context) ([]shell.Info, error) {
	return get[[]shell.Info](ctx, c, "/shells")
}

// CreateShell creates a shell.
func (c *Client) CreateShell(ctx context.Context, name string, o ShellOptions) error {
	body, err := json.Marshal(o)
	if err == nil {
		err = shell.CheckName(name)
	}
	if err == nil {
		err = c.ping(ctx)
	}
	if err == nil {
		_, err = c.do(ctx, http.MethodPut, "/shells/"+url.PathEscape(name), body, http.StatusOK)
	}
	return err
}

// RemoveShell ends a shell, if it exists.
func (c *Client) RemoveShell(ctx context.Context, name string) error {
	if err := shell.CheckName(name); err != nil {
		return err
	}
	if err := c.ping(ctx); err != nil {
		return err
	}
	_, err := c.do(ctx, http.MethodDelete, "/shells/"+url.PathEscape(name), nil, http.StatusOK)
	return err
}

// InterruptText ends the text that RunShell runs for request, because this process got signal.
func (c *Client) InterruptText(ctx context.Context, request, signal string) error {
	body, err := json.Marshal(Signal{signal})
	if err == nil {
		_, err = c.do(ctx, http.MethodPost, "/texts/"+request+"/signal", body, http.StatusOK)
	}
	return err
}

// RunShell runs a text in a shell and calls show for each event. It returns after the last event. The text's processes
// end if ctx ends.
func (c *Client) RunShell(ctx context.Context, name string, command ShellCommand, show func(ShellEvent) error) error {
	if err := shell.CheckName(name); err != nil {
		return err
	}
	body, err := json.Marshal(command)
	if err == nil {
		err = c.ping(ctx)
	}
	if err != nil {
		return err
	}
	reply, err := c.open(ctx, http.MethodPost, "/shells/"+url.PathEscape(name), body, http.StatusOK)
	if err != nil {
		return err
	}
	defer reply.Close()
	for events := json.NewDecoder(reply); ; {
		var e ShellEvent
		if err := events.Decode(&e); err != nil {
			return fmt.Errorf("ask the watcher: %w", errors.Join(errors.New("it went away"), context.Cause(ctx)))
		}
		if err := show(e); err != nil {
			return err
		}
		if e.Exit != nil || e.Error != "" {
			return nil
		}
	}
}
