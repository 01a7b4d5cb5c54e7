// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// ContainerAgent is one agent in a container. Set all exported fields before Run. It has many fields: most are its
// options, one for each part of the session that it needs.
type ContainerAgent struct {
	API       Engine
	Spec      Spec
	Extra     Extra
	User      string // user of the image
	Handshake []byte // sent before Stdin

	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Create creates the container. If it fails, no container is left.
	Create       func(context.Context, *container.Config, *container.HostConfig) (id string, err error)
	WatcherEnded func() <-chan struct{} // closed when the session's watcher has ended; called after the container exists
	Start        func()                 // called just before the container starts
	// WatcherFailure returns the reason for the watcher's end, or nil; called after WatcherEnded's channel is closed.
	WatcherFailure func() error
	// Stopping reports whether another process is stopping the session and its container.
	Stopping func() bool
	Log      func(format string, args ...any)

	id   string
	tail lastLines
}

// cleanupTimeout is the time limit for stopping or removing a container.
const cleanupTimeout = time.Minute

var (
	errStartup = errors.New("the startup timeout expired")
	errWatcher = errors.New("the session's watcher has ended, so the agent was stopped: for the reason, see docker hostexec logs")
)

// Run runs the agent to its end and returns its exit code. If ctx ends, it stops the agent. A nonzero code
// without a stop is also returned as an Error with the agent's last lines. If the agent does not start,
// Run removes everything it has created.
func (c *ContainerAgent) Run(ctx context.Context) (int, error) {
	p, err := c.begin(ctx)
	if err != nil {
		return 0, err
	}
	return c.follow(ctx, p)
}

// Discard removes the workspace of an agent that was not started.
func (c *ContainerAgent) Discard() {
	if c.Extra.Workspace != "" {
		_ = os.Remove(c.Extra.Workspace) // fails if the directory is not empty
	}
}

// runningContainer is a running container.
type runningContainer struct {
	exit         <-chan int // receives the exit code once
	cancel       context.CancelFunc
	outputDone   chan struct{} // closed when all output is copied
	clientFailed chan error    // receives an error when the client's stdout fails
	attached     []types.HijackedResponse
}

// begin creates, attaches, waits and starts, in this order, so that no output or exit is missed. If a step
// fails, begin undoes the earlier ones.
func (c *ContainerAgent) begin(ctx context.Context) (_ *runningContainer, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Spec.Container.Startup, errStartup)
	defer cancel()
	config, host := translate(&c.Spec, c.Extra)
	p := &runningContainer{outputDone: make(chan struct{}), clientFailed: make(chan error, 1)}
	defer func() {
		if err == nil {
			return
		}
		p.close()
		if c.id != "" {
			c.remove()
		}
		c.Discard()
		if errors.Is(context.Cause(ctx), errStartup) {
			err = startupTimeout(&c.Spec.Container, err)
		} else if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	if c.id, err = c.Create(ctx, config, host); err != nil {
		return nil, err
	}
	c.Log("container %.12s created from %s", c.id, names.Escaped(config.Image))
	if c.Extra.Workspace != "" {
		if err = chownWorkspace(ctx, c.API, c.id, c.Spec.Container.Path, c.User); err != nil {
			return nil, fmt.Errorf("give the workspace to the container's user: %w", err)
		}
	}
	if err = c.attach(ctx, p); err != nil {
		return nil, attachFailed(err)
	}
	c.Log("attached to its stdin, stdout and stderr")
	c.monitor(ctx, p)
	c.Start()
	if err = c.API.ContainerStart(ctx, c.id, container.StartOptions{}); err != nil {
		return nil, fmt.Errorf("start the container: %w", err)
	}
	c.Log("container %.12s started", c.id)
	c.copy(p)
	return p, nil
}

// attach opens one connection for stdout and one for stderr, because on one connection a slow reader of
// one stream would block the other. A terminal has only one stream.
func (c *ContainerAgent) attach(ctx context.Context, p *runningContainer) error {
	options := []container.AttachOptions{{Stream: true, Stdin: true, Stdout: true}, {Stream: true, Stderr: true}}
	if c.Extra.TTY {
		options = options[:1]
	}
	for _, opts := range options {
		conn, err := callcontainer.Attach(ctx, func(ctx context.Context) (types.HijackedResponse, error) {
			return c.API.ContainerAttach(ctx, c.id, opts)
		})
		if err != nil {
			return err
		}
		p.attached = append(p.attached, conn)
	}
	return nil
}

// monitor waits for the container's end. It is called before the container starts, so that an immediate exit is not
// missed. The end of starting cancels only the request, and only until the engine has sent its headers.
func (c *ContainerAgent) monitor(starting context.Context, p *runningContainer) {
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	defer context.AfterFunc(starting, p.cancel)()
	exit := make(chan int, 1)
	done, failed := c.API.ContainerWait(ctx, c.id, container.WaitConditionNextExit)
	p.exit = exit
	// Ends with the container, or when p is closed.
	go func() { exit <- c.await(ctx, done, failed) }()
}

// await returns the exit code of the container. It survives an interruption of the engine.
func (c *ContainerAgent) await(ctx context.Context, done <-chan container.WaitResponse, failed <-chan error) int {
	for {
		select {
		case end := <-done:
			if end.StatusCode >= 0 {
				return int(end.StatusCode)
			}
			// The code -1 is an error of the request, not exit code 255.
			c.Log("wait for container %.12s: %v", c.id, end.Error)
		case err := <-failed:
			if errdefs.IsNotFound(err) {
				return exitKilled
			}
		}
		if code, ended := c.exitCode(ctx); ended {
			return code
		}
		done, failed = c.API.ContainerWait(ctx, c.id, container.WaitConditionNotRunning)
	}
}

// exitKilled is the exit code of a container that was removed before the engine reported its own.
const exitKilled = 128 + 9

// exitCode waits until the container runs or has ended, and returns its exit code if it has ended. A container that
// was not started yet has no exit code.
func (c *ContainerAgent) exitCode(ctx context.Context) (code int, ended bool) {
	for {
		select {
		case <-ctx.Done():
			return exitKilled, true
		case <-time.After(time.Second):
		}
		got, err := c.API.ContainerInspect(ctx, c.id)
		switch {
		case errdefs.IsNotFound(err):
			return exitKilled, true
		case err != nil || got.State.Status == container.StateCreated:
		case got.State.Running || got.State.ExitCode < 0:
			return 0, false
		default:
			return got.State.ExitCode, true
		}
	}
}

func (p *runningContainer) close() {
	for _, conn := range p.attached {
		conn.Close()
	}
	if p.cancel != nil {
		p.cancel()
	}
}

// follow waits until the container has ended and all its output is copied.
func (c *ContainerAgent) follow(ctx context.Context, p *runningContainer) (code int, err error) {
	defer p.close()
	stopped := true
	select {
	case code = <-p.exit:
		stopped = c.Stopping()
	case <-ctx.Done():
		code = c.stop(p)
	case err = <-p.clientFailed:
		code = c.stop(p)
	case <-c.WatcherEnded():
		if stopped = c.running(); stopped {
			err = cmp.Or(c.WatcherFailure(), errWatcher)
		}
		code = c.stop(p)
	}
	p.drain(ctx, stopped)
	c.Log("container %.12s exited with code %d", c.id, code)
	if !c.Spec.Container.Keep {
		c.remove()
	}
	if err == nil && code != 0 && !stopped && !c.Stopping() {
		err = exited(code, c.tail.last())
	}
	return code, err
}

// running reports whether the container is running. It is needed because the watcher ends as soon as a
// container is removed, perhaps before the exit code arrives.
func (c *ContainerAgent) running() bool {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	got, err := c.API.ContainerInspect(ctx, c.id)
	return err == nil && got.State.Running || err != nil && !errdefs.IsNotFound(err)
}

// stop asks the container to end, and kills it after watch.AgentGrace.
func (c *ContainerAgent) stop(p *runningContainer) int {
	c.Log("container %.12s is stopped", c.id)
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	seconds := int(watch.AgentGrace / time.Second)
	err := c.API.ContainerStop(ctx, c.id, container.StopOptions{Timeout: &seconds})
	if err != nil && !errdefs.IsNotFound(err) {
		c.Log("stop container %.12s: %v", c.id, err)
	}
	select {
	case code := <-p.exit:
		return code
	case <-ctx.Done():
		return exitKilled
	}
}

// drain waits until all output of the container is copied. After a stop or the end of ctx, it waits only
// for a limited time, because the client may have stopped reading.
func (p *runningContainer) drain(ctx context.Context, stopped bool) {
	if !stopped {
		select {
		case <-p.outputDone:
			return
		case <-ctx.Done():
		}
	}
	select {
	case <-p.outputDone:
	case <-time.After(stallTimeout):
	}
}

func (c *ContainerAgent) remove() {
	// The removal must not be cancelled with the agent's context.
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if err := callcontainer.Remove(ctx, c.API, c.id); err != nil {
		c.Log("remove container %.12s: %v", c.id, err)
	}
}
