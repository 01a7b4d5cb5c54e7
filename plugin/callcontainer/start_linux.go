// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/initproc"
)

// Start creates a container and starts c in it. When ctx ends, Start does not wait until the engine has created and
// started the container: nothing of c runs in it yet.
func (r *Runner) Start(ctx context.Context, c executor.Command, files [3]int, size *executor.Winsize) (executor.BackendCommand, error) {
	r.containers.once.Do(func() {
		r.containers.running, r.containers.creating = make(semaphore, maxRunning), make(semaphore, maxCreating)
	})
	api, err := r.containers.Engine(r.spec.DockerHost)
	if err != nil {
		return nil, unresponsive(r.spec.DockerHost, err)
	}
	if err := r.containers.running.acquire(ctx); err != nil {
		return nil, err
	}
	proc := &containerProcess{containers: r.containers, api: api, dir: filepath.Join(r.containers.Dir, c.ID), done: make(chan struct{}), stopped: make(chan struct{}, 1)}
	started := make(chan error, 1)
	// Ends with the engine's answers, or after engineTimeout; Containers.Close waits for it.
	r.containers.wg.Go(func() { started <- proc.startContainer(ctx, r.spec, c) })
	select {
	case err = <-started:
	case <-ctx.Done():
		// Ends when the container is removed or cannot be removed; Containers.Close waits for it.
		r.containers.wg.Go(func() {
			<-started
			proc.discard()
		})
		return nil, context.Cause(ctx)
	}
	if err == nil {
		err = proc.launch(ctx, r.spec, c, files, size)
	}
	if err != nil {
		proc.discard()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	// Ends when the first process has ended, or when discard or Reap closes the connection.
	go proc.listen()
	return proc, nil
}

// startContainer creates and starts the container for c. If the engine hangs, it may take longer than ctx.
func (proc *containerProcess) startContainer(ctx context.Context, p Spec, c executor.Command) (err error) {
	if err := proc.containers.creating.acquire(ctx); err != nil {
		return err
	}
	defer proc.containers.creating.release()
	if proc.ln, err = proc.makeDir(); err != nil {
		return err
	}
	engineCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTimeout)
	defer cancel()
	if proc.id, err = proc.containers.create(engineCtx, proc.api, c, p, proc.dir); err != nil {
		return err
	}
	proc.watch(ctx, engineCtx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := proc.api.ContainerStart(engineCtx, proc.id, container.StartOptions{}); err != nil {
		return fmt.Errorf("start a container of %s: %w", p.Image, explain(err, p, proc.dir))
	}
	return nil
}

// launch starts c in the container, which has just started.
func (proc *containerProcess) launch(ctx context.Context, p Spec, c executor.Command, files [3]int, size *executor.Winsize) (err error) {
	defer proc.ln.Close()
	if proc.conn, err = proc.accept(ctx, proc.ln, p); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { proc.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	proc.conn.SetDeadline(time.Now().Add(engineTimeout))
	if err := proc.startCommand(p, c, files, size); err != nil {
		return err
	}
	if !stop() {
		return context.Cause(ctx)
	}
	return proc.conn.SetDeadline(time.Time{})
}

// watch asks the engine to report the removal of the container. Until the engine sends headers, ctx and engineCtx also
// end the request: the engine sends none while another client blocks the container.
func (proc *containerProcess) watch(ctx, engineCtx context.Context) {
	var wait context.Context
	wait, proc.cancelWait = context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, proc.cancelWait)()
	defer context.AfterFunc(engineCtx, proc.cancelWait)()
	proc.removed, proc.waitFailed = proc.api.ContainerWait(wait, proc.id, container.WaitConditionRemoved)
}

// makeDir creates the directory that is mounted into the container, with the program and the socket. Any user
// in the container may read it; the directory above it is private.
func (proc *containerProcess) makeDir() (*net.UnixListener, error) {
	if err := os.MkdirAll(proc.containers.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(proc.dir, 0o755); err != nil {
		return nil, err
	}
	if err := duplicate(proc.containers.Program, filepath.Join(proc.dir, initproc.Name)); err != nil {
		return nil, fmt.Errorf("put %s into a container: %w", initproc.Name, err)
	}
	root, err := os.OpenRoot(proc.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	// Uses /proc because sun_path holds only 108 bytes (unix(7)).
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), initproc.Socket)})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false) // the path above is not valid any more by then
	// The umask must not exclude the container's user.
	err = errors.Join(root.Chmod(initproc.Socket, 0o666), d.Chmod(0o755))
	if err != nil {
		ln.Close()
	}
	return ln, err
}

// duplicate copies file to name. Containers must not share files.
func duplicate(file, name string) error {
	src, err := os.Open(file)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Chmod(0o755), dst.Close())
}

// accept waits for the container's first process to connect. No other process runs in the container yet.
func (proc *containerProcess) accept(ctx context.Context, ln *net.UnixListener, p Spec) (*net.UnixConn, error) {
	ln.SetDeadline(time.Now().Add(engineTimeout))
	type accepted struct {
		conn *net.UnixConn
		err  error
	}
	results := make(chan accepted, 1)
	// Ends when a process connects, at the deadline, or when launch closes ln.
	go func() {
		conn, err := ln.AcceptUnix()
		results <- accepted{conn, err}
	}()
	var err error
	select {
	case a := <-results:
		return a.conn, a.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case end := <-proc.removed:
		err = endedEarly(end.StatusCode, p)
	case err = <-proc.waitFailed:
	}
	ln.Close()
	if a := <-results; a.conn != nil {
		a.conn.Close()
	}
	return nil, err
}
