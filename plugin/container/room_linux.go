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
	"github.com/docker-hostexec/hostexec/shim/room"
)

// Enter implements executor.Room. It creates a container and starts c in it.
func (r *Runner) Enter(ctx context.Context, c executor.Command, files [3]int, size *executor.Winsize) (executor.Guest, error) {
	r.rooms.once.Do(func() { r.rooms.all, r.rooms.making = make(turns, atOnce), make(turns, making) })
	api, err := r.rooms.Engine(r.place.Host)
	if err != nil {
		return nil, silent{r.place.Host, err}
	}
	if err := r.rooms.all.take(ctx); err != nil {
		return nil, err
	}
	g := &guest{rooms: r.rooms, api: api, dir: filepath.Join(r.rooms.Dir, c.ID), done: make(chan struct{}), stopped: make(chan struct{}, 1)}
	if err := g.enter(ctx, r.place, c, files, size); err != nil {
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

func (g *guest) enter(ctx context.Context, p Place, c executor.Command, files [3]int, size *executor.Winsize) error {
	if err := g.rooms.making.take(ctx); err != nil {
		return err
	}
	defer g.rooms.making.giveBack()
	ln, err := g.furnish()
	if err != nil {
		return err
	}
	defer ln.Close()
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), answering)
	defer cancel()
	if g.id, err = g.rooms.create(patient, g.api, c, p, g.dir); err != nil {
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
	g.conn.SetDeadline(time.Now().Add(answering))
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
func (g *guest) watch(ctx, patient context.Context) {
	var wait context.Context
	wait, g.forget = context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, g.forget)()
	defer context.AfterFunc(patient, g.forget)()
	g.removed, g.unknown = g.api.ContainerWait(wait, g.id, container.WaitConditionRemoved)
}

// furnish creates the folder that is mounted into the container, with the program and the socket. Any user
// in the container may read it; the folder above it is private.
func (g *guest) furnish() (*net.UnixListener, error) {
	if err := os.MkdirAll(g.rooms.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	if err := duplicate(g.rooms.Program, filepath.Join(g.dir, room.Name)); err != nil {
		return nil, fmt.Errorf("put %s into a container: %w", room.Name, err)
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
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), room.Socket)})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false) // the path above is not valid any more by then
	// The umask must not exclude the container's user.
	err = errors.Join(root.Chmod(room.Socket, 0o666), d.Chmod(0o755))
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
func (g *guest) accept(ctx context.Context, ln *net.UnixListener, p Place) (*net.UnixConn, error) {
	ln.SetDeadline(time.Now().Add(answering))
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
		err = early(end.StatusCode, p)
	case err = <-g.unknown:
	}
	ln.Close()
	if a := <-came; a.conn != nil {
		a.conn.Close()
	}
	return nil, err
}
