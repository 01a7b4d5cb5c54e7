// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/relay"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

const (
	// minRetry and maxRetry are the limits of the pause before the next relay.
	minRetry = 50 * time.Millisecond
	maxRetry = time.Second
	// arrivalTimeout is the time limit for the arrival of a connection that the relay has reported.
	arrivalTimeout = 5 * time.Second
)

// keepRelay keeps a relay in container id while it runs, also after restarts. It returns when ctx is done, or when the
// socket works.
func (c *carrierChooser) keepRelay(ctx context.Context, api watch.Engine, id string) {
	wait, lastLogged := minRetry, ""
	for {
		old, began := c.carriers.Choice(), time.Now()
		err := c.relayOnce(ctx, api, id, func(socket bool) error { return c.relayUp(ctx, api, socket) })
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errSocketWorks) {
			c.socketWorks(ctx, api)
			return
		}
		if c.carriers.Choice() != old { // it was up
			if time.Since(began) > maxRetry { // a container that ends its relays at once must wait longer each time
				wait = minRetry
			}
			c.carriers.Decide(carrier.Undecided, "the relay has ended, and another one is on its way")
		}
		if text := err.Error(); text != lastLogged && !notRunning(err) {
			lastLogged = text
			c.log.Info("the relay has ended, or was not started", "error", err)
			c.forgetReplacedEngine(ctx, api)
			word := carrier.Undecided
			if errors.Is(err, ErrNoProcess) {
				word = carrier.NoProcess
			}
			c.carriers.Decide(word, text)
		}
		if !watch.Pause(ctx, wait) {
			return
		}
		wait = min(2*wait, maxRetry)
	}
}

// relayOnce runs one relay to its end, and returns the reason of the end. It calls up when the relay is ready.
func (c *carrierChooser) relayOnce(ctx context.Context, api watch.Engine, id string, up func(socket bool) error) error {
	if c.record.Session().Attached { // otherwise the shim is mounted read-only
		if err := CheckShimOwner(ctx, api, id); err != nil {
			return err
		}
	}
	exec, err := callcontainer.StartExec(ctx, api, id, container.ExecOptions{
		User: "0", WorkingDir: "/", AttachStdin: true, AttachStdout: true,
		Cmd: []string{state.Target + "/bin/hostexec", "relay", state.Target},
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { exec.Close() })() // the relay exits at the end of its stdin
	err = c.carriers.Relay.Serve(exec, up, func() bool { return exited(ctx, api, exec.ID) })
	if errors.Is(err, relay.ErrNoHello) {
		return startFailure(ctx, api, id, exec.ID, err)
	}
	return err
}

// startFailure returns why the relay of exec sent no Hello, or err.
func startFailure(ctx context.Context, api watch.Engine, id, exec string, err error) error {
	st, inspectErr := inspectExec(ctx, api, exec)
	switch {
	case inspectErr != nil || st.Running:
		return err
	case st.ExitCode == wire.CodeFailed && errors.Is(err, io.EOF): // a relay that fails for another reason sends it
		return ErrNoProcess
	case st.ExitCode != wire.CodeRefused && st.ExitCode != wire.CodeNotFound: // these are also the engine's codes
		return err
	case noPidsLeft(ctx, api, id):
		return ErrNoProcess
	}
	return fmt.Errorf("the engine could not start the relay (exit code %d)", st.ExitCode)
}

// exited reports whether the process of an exec has ended. It returns false if the engine does not answer.
func exited(ctx context.Context, api watch.Engine, exec string) bool {
	st, err := inspectExec(ctx, api, exec)
	return errdefs.IsNotFound(err) || err == nil && !st.Running
}

func inspectExec(ctx context.Context, api watch.Engine, exec string) (container.ExecInspect, error) {
	ctx, cancel := context.WithTimeout(ctx, arrivalTimeout)
	defer cancel()
	return api.ContainerExecInspect(ctx, exec)
}

// relayUp chooses the relay, unless the socket works, too.
func (c *carrierChooser) relayUp(ctx context.Context, api watch.Engine, socket bool) error {
	switch {
	case c.record.Session().Attached:
		c.carriers.Decide(carrier.ByRelay, "the container was attached while it ran, and has no share")
		return nil
	case c.record.Session().RemoteFiles:
		c.carriers.Decide(carrier.ByRelay, "the engine does not see this host's directories")
		c.noteEngine(ctx, api, state.EngineFacts{Carrier: carrier.ByRelay, RemoteFiles: true})
		return nil
	case c.record.Session().Carrier == carrier.ByRelay:
		c.carriers.Decide(carrier.ByRelay, "it was asked for")
		return nil
	}
	if socket { // the container claims so, which only a connection proves
		timeout := time.NewTimer(arrivalTimeout)
		defer timeout.Stop()
		select {
		case <-c.carriers.Connected:
			return errSocketWorks
		case <-timeout.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	c.carriers.Decide(carrier.ByRelay, "no socket of this host crosses into the container")
	c.noteEngine(ctx, api, state.EngineFacts{Carrier: carrier.ByRelay})
	return nil
}
