// SPDX-License-Identifier: Apache-2.0

// Package process is the mode of a watcher for the calls of an agent that is a process of this host. The watcher starts
// the agent, and ends after it, or after its last kept job.
package process

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Mode is the watch.Mode for an agent that is a process of this host.
type Mode struct{ s *watch.Session }

func (m *Mode) Listen(s *watch.Session) ([]net.Listener, error) {
	m.s = s
	return s.Carriers.Open()
}

func (m *Mode) Admit(context.Context) bool { return true }

// Follow runs the agent that the launcher asks for, and returns after the agent's end.
func (m *Mode) Follow(ctx context.Context, conn *watch.LauncherConn) error {
	conn.Ready()
	var line string
	select {
	case line = <-conn.Lines:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	text, ok := strings.CutPrefix(line, "process ")
	if !ok {
		return watch.ErrGone
	}
	p, err := watch.DecodeProcess(text)
	if err != nil {
		return err
	}
	st, err := m.run(ctx, p, conn)
	if err != nil && !errors.Is(err, watch.ErrStopped) {
		conn.Fail(err)
		return err
	}
	conn.ReportExit(st.Code)
	if why := m.s.Life.Agent.Stopped(); why != nil {
		return why
	}
	if m.s.Life.KeptJob() != nil {
		m.s.Calls.Server.EndLeftovers(m.s.Record.ID) // as the session's end does
		conn.CloseEarly()
	}
	return m.s.Life.WaitKeptJobs(ctx, nil, watch.ErrExited)
}

// run runs p, whose calls are answered like a container's. p sees the host's directories under their own names.
func (m *Mode) run(ctx context.Context, p watch.Process, conn *watch.LauncherConn) (executor.Status, error) {
	dirs, err := mount.NewTable([]mount.Point{{Target: p.Dir, Source: p.Dir, Bind: true}}, mount.Default{})
	if err != nil {
		return executor.Status{}, err
	}
	at, err := dirs.Open(p.Dir)
	if err != nil {
		return executor.Status{}, errors.Join(err, dirs.Close())
	}
	defer at.Close()
	m.s.Calls.Apply("", dirs)
	m.s.Warnings.Set(m.s.Calls.HostCode([]string{p.Dir}, "which the agent can write"))
	if err := m.s.Record.Save(); err != nil {
		m.s.Log.Error("write down warnings", "error", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan executor.Delivery, 1)
	// ends with the connection, or with ctx.
	m.s.Go(func() { m.endAgent(ctx, conn, signals, cancel) })
	cmd := executor.Command{ID: m.s.Record.ID, Path: p.Path, Args: p.Args, Env: p.Env, Dir: at.FD(), NewPrivs: true}
	return m.s.Calls.Server.Runner.Run(ctx, cmd, executor.Streams{
		FD:      watch.AgentStdio,
		Signals: signals,
		Started: func(int) { watch.CloseAgentStdio() },
	})
}

// endAgent ends the agent when its caller requires it or is killed, or when a person stops the session.
func (m *Mode) endAgent(ctx context.Context, conn *watch.LauncherConn, signals chan<- executor.Delivery, cancel context.CancelCauseFunc) {
	for lines := conn.Lines; m.s.Life.Agent.Asked.Err() == nil; {
		select {
		case line, ok := <-lines:
			if !ok {
				lines = nil
			}
			if !ok || line == "stop" {
				m.s.Life.Agent.EndWithin(watch.AgentGrace)
			}
		case <-m.s.Life.Agent.Asked.Done():
		case <-ctx.Done():
			return
		}
	}
	signals <- executor.Delivery{Signal: "TERM"} // does not block: the channel has a buffer of one
	select {
	case <-m.s.Life.Agent.Deadline.Done():
		cancel(watch.StopError{}) // no other request follows
	case <-ctx.Done():
	}
}
