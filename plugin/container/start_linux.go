// SPDX-License-Identifier: Apache-2.0

package container

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

// Start implements executor.Backend. It creates a container and starts c in it.
func (r *Runner) Start(ctx context.Context, c executor.Command, files [3]int, size *executor.Winsize) (executor.BackendCommand, error) {
	r.containers.once.Do(func() { r.containers.running, r.containers.making = make(semaphore, atOnce), make(semaphore, making) })
	api, err := r.containers.Engine(r.spec.Host)
	if err != nil {
		return nil, unresponsiveEngine{r.spec.Host, err}
	}
	if err := r.containers.running.acquire(ctx); err != nil {
		return nil, err
	}
	g := &containerProcess{containers: r.containers, api: api, dir: filepath.Join(r.containers.Dir, c.ID), done: make(chan struct{}), stopped: make(chan struct{}, 1)}
	if err := g.enter(ctx, r.spec, c, files, size); err != nil {
		g.discard()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	// Ends when the first process has ended, or when discard or leave closes the connection.
	go g.listen()
	return g, nil
}

func (g *containerProcess) enter(ctx context.Context, p Spec, c executor.Command, files [3]int, size *executor.Winsize) error {
	if err := g.containers.making.acquire(ctx); err != nil {
		return err
	}
	defer g.containers.making.release()
	ln, err := g.makeFolder()
	if err != nil {
		return err
	}
	defer ln.Close()
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTimeout)
	defer cancel()
	if g.id, err = g.containers.create(patient, g.api, c, p, g.dir); err != nil {
		return err
	}
	g.watch(ctx, patient)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := g.api.ContainerStart(patient, g.id, container.StartOptions{}); err != nil {
		return fmt.Errorf("start a container of %s: %w", p.Image, explain(err, p, g.dir))
	}
	if g.conn, err = g.accept(ctx, ln, p); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { g.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	g.conn.SetDeadline(time.Now().Add(engineTimeout))
	if err := g.begin(p, c, files, size); err != nil {
		return err
	}
	if !stop() {
		return context.Cause(ctx)
	}
	return g.conn.SetDeadline(time.Time{})
}

// watch asks the engine to report the removal of the container. If another client blocks the container,
// the engine does not even send the headers. The request therefore ends with ctx and patient like all
// others.
func (g *containerProcess) watch(ctx, patient context.Context) {
	var wait context.Context
	wait, g.cancelWait = context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, g.cancelWait)()
	defer context.AfterFunc(patient, g.cancelWait)()
	g.removed, g.waitFailed = g.api.ContainerWait(wait, g.id, container.WaitConditionRemoved)
}

// makeFolder creates the directory that is mounted into the container, with the program and the socket. Any user
// in the container may read it; the directory above it is private.
func (g *containerProcess) makeFolder() (*net.UnixListener, error) {
	if err := os.MkdirAll(g.containers.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	if err := duplicate(g.containers.Program, filepath.Join(g.dir, initproc.Name)); err != nil {
		return nil, fmt.Errorf("put %s into a container: %w", initproc.Name, err)
	}
	root, err := os.OpenRoot(g.dir)
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
func (g *containerProcess) accept(ctx context.Context, ln *net.UnixListener, p Spec) (*net.UnixConn, error) {
	ln.SetDeadline(time.Now().Add(engineTimeout))
	type accepted struct {
		conn *net.UnixConn
		err  error
	}
	came := make(chan accepted, 1)
	// Ends when a process connects, at the deadline, or when enter closes ln.
	go func() {
		conn, err := ln.AcceptUnix()
		came <- accepted{conn, err}
	}()
	var err error
	select {
	case a := <-came:
		return a.conn, a.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case end := <-g.removed:
		err = endedEarly(end.StatusCode, p)
	case err = <-g.waitFailed:
	}
	ln.Close()
	if a := <-came; a.conn != nil {
		a.conn.Close()
	}
	return nil, err
}
