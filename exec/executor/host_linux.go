// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// host is the part of Host for this operating system.
type host struct {
	parent  *proctree.Parent
	null    int // /dev/null
	copiers sync.WaitGroup
	servers sync.WaitGroup // of metadata

	mu            sync.Mutex // guards the fields below
	activeCopiers map[*outputCopier]bool
	metadata      map[*sandbox.MetadataServer]bool // of confined commands that have processes
}

func (h *Host) open() error {
	if err := dir.CloexecAll(); err != nil {
		return fmt.Errorf("keep descriptors from commands: %w", err)
	}
	parent, err := proctree.NewParent()
	if err != nil {
		return err
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errors.Join(os.NewSyscallError("open "+os.DevNull, err), parent.Close())
	}
	h.host = host{parent: parent, null: null, activeCopiers: map[*outputCopier]bool{}, metadata: map[*sandbox.MetadataServer]bool{}}
	return nil
}

func (h *Host) close() error {
	err := h.parent.End(h.grace())
	h.mu.Lock()
	for p := range h.activeCopiers {
		p.src.Close() // a terminal's master, or a pipe to a process that survives Close
	}
	for m := range h.metadata {
		m.Close() // of processes that survive Close
	}
	h.mu.Unlock()
	h.copiers.Wait()
	h.waitServers(h.grace())
	return errors.Join(err, h.parent.Close(), unix.Close(h.null))
}

// waitServers waits until the MetadataServers have answered the system calls of confined commands. It gives up after
// grace, because a file system may never react.
func (h *Host) waitServers(grace time.Duration) {
	done := make(chan struct{})
	// ends with the last answer; a hanging file system keeps it.
	go func() {
		h.servers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(grace):
		h.log.Error("a file system does not react: the mode, owner or times of a file may still change")
	}
}

func (h *Host) grace() time.Duration { return cmp.Or(h.Grace, proctree.DefaultGrace) }

func (h *Host) run(ctx context.Context, c Command, s Streams) (Status, error) {
	conns, err := h.connectStreams(s, false)
	if err != nil {
		return Status{}, fmt.Errorf("start %s: %w", strconv.QuoteToASCII(c.Path), err)
	}
	if ctx.Err() != nil { // a cancelled call starts no command
		conns.closeAll()
		return Status{}, context.Cause(ctx)
	}
	start := proctree.StartConfig{
		ID:        c.ID,
		Session:   h.Session,
		Path:      c.Path,
		Args:      c.Args,
		Env:       c.Env,
		Dir:       c.Dir,
		Files:     conns.files,
		TTY:       s.TTY != nil,
		NewPrivs:  c.NewPrivs,
		Leave:     c.LeaveProcesses,
		Supervise: c.Supervise,
	}
	confinement := h.confine(c, &start)
	child, err := h.parent.Start(ctx, start)
	if err != nil {
		conns.closeAll()
		if ctx.Err() != nil {
			return Status{}, context.Cause(ctx)
		}
		return Status{}, startError(c, err)
	}
	started := &local{child, h, s.TTY != nil}
	if confinement != nil && !c.LeaveProcesses {
		return h.serve(ctx, &confinedCommand{started, confinement}, child.Pid, s, conns)
	}
	return h.serve(ctx, started, child.Pid, s, conns)
}

// process is a started command, a child of this process or of a Backend.
type process interface {
	Done() <-chan struct{}
	Stopped() <-chan struct{}
	Signal(d Delivery)
	Exiting() bool
	End(grace time.Duration) error
	Reap() syscall.WaitStatus
}

// local is a command that is a child of this process.
type local struct {
	*proctree.Child
	host *Host
	tty  bool
}

func (l *local) Signal(d Delivery) { l.host.deliver(l.Child, d, l.tty) }

// serve handles a command that has just started, until it has ended.
func (h *Host) serve(ctx context.Context, p process, pid int, s Streams, conns *connections) (Status, error) {
	conns.closeCommandFDs()
	if s.Started != nil {
		s.Started(pid)
	}
	conns.start()
	return h.follow(ctx, p, s, conns)
}

// startError returns a precise error for a failed start. The kernel returns the same error for a
// missing program and for a missing interpreter.
func startError(c Command, err error) error {
	action := "start " + strconv.QuoteToASCII(c.Path)
	switch {
	case unix.Faccessat(c.Dir, ".", unix.X_OK, unix.AT_EACCESS) != nil:
		return fmt.Errorf("%s: the directory to start in cannot be entered", action)
	case errors.Is(err, fs.ErrNotExist) && unix.Access(c.Path, unix.F_OK) == nil:
		return fmt.Errorf("%s: its interpreter: %w", action, err)
	}
	return fmt.Errorf("%s: %w", action, err)
}

// follow handles the events of a running command until it has ended and its output has been
// delivered.
func (h *Host) follow(ctx context.Context, p process, s Streams, conns *connections) (Status, error) {
	for alive := true; alive && ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-p.Done():
			alive = false
		case <-p.Stopped():
			if s.Stopped != nil {
				s.Stopped()
			}
		case w, ok := <-s.Resize:
			if !ok {
				s.Resize = nil
				continue
			}
			conns.resize(w)
		case d, ok := <-s.Signals:
			if !ok {
				s.Signals = nil
				continue
			}
			if !d.Group || !conns.signalForeground(d.Signal) {
				p.Signal(d)
			}
		}
	}
	conns.finish()
	if err := conns.drain(ctx); err != nil {
		return h.endTree(ctx, p, conns), err
	}
	return status(p.Reap(), conns.consumed()), nil
}

// endTree ends the command's whole process tree, and returns the command's status after all processes have
// ended. A command that had not ended before counts as killed, even if it handled TERM and exited.
func (h *Host) endTree(ctx context.Context, p process, conns *connections) Status {
	killed := !p.Exiting()
	grace := h.grace()
	var graceful Graceful
	if errors.As(context.Cause(ctx), &graceful) {
		grace = graceful.Grace()
	}
	if err := p.End(grace); err != nil {
		h.log.Error("end a command", "error", err)
		// tries again while no descriptor is free to see the processes; ends when the kernel lets the command end
		go func() {
			for errors.Is(err, proctree.ErrBlind) {
				err = p.End(0)
			}
			p.Reap()
		}()
		return Status{Code: 128 + int(syscall.SIGKILL), Signal: "KILL"}
	}
	conns.drain(context.Background()) // the caller's Writes return soon after the end of the context
	st := status(p.Reap(), conns.consumed())
	if killed && st.Signal == "" {
		st.Code, st.Signal = 128+int(syscall.SIGTERM), "TERM"
	}
	return st
}

func status(ws syscall.WaitStatus, consumed uint64) Status {
	if ws.Signaled() {
		return Status{Code: 128 + int(ws.Signal()), Signal: signalName(ws.Signal()), Consumed: consumed}
	}
	return Status{Code: ws.ExitStatus(), Consumed: consumed}
}
