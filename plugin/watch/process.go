// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/mount"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// Process is an agent that runs as a process of this host's, a child of its session's
// watcher: so it ends with that, and with its caller, however these end.
type Process struct {
	Path string // absolute
	Args []string
	Env  []string
	Dir  string // where it starts, and below which it may make calls
}

// Run has p run and returns its exit code, 128+n if a signal ended it. When ctx is done p
// gets TERM, and KILL after AgentGrace.
func (l *Link) Run(ctx context.Context, p Process) (code int, err error) {
	b, err := json.Marshal(encode(p))
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(l.f, "process %s\n", b); err != nil {
		return 0, fmt.Errorf("tell the watcher: %w", err)
	}
	defer context.AfterFunc(ctx, func() { l.f.WriteString("stop\n") })() // it may have ended by itself
	text, err := l.awaitValue("exited")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// processMode serves an agent that is a process of this host.
type processMode struct{ s *Session }

// Listen implements Mode.
func (m *processMode) Listen(s *Session) ([]net.Listener, error) {
	m.s = s
	return s.Carriers.Open()
}

// Admit implements Mode.
func (m *processMode) Admit(context.Context) bool { return true }

// Follow implements Mode. It runs the agent that run asks for, and stays until it has ended.
func (m *processMode) Follow(ctx context.Context, link *Launcher) error {
	link.Ready()
	var line string
	select {
	case line = <-link.Lines:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	text, ok := strings.CutPrefix(line, "process ")
	if !ok {
		return ErrGone
	}
	var e encoded
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err
	}
	st, err := m.run(ctx, e.decode(), link)
	if err != nil && !errors.Is(err, ErrStopped) {
		link.Fail(err)
		return err
	}
	link.Exited(st.Code)
	if why := m.s.Life.Agent.Stopped(); why != nil {
		return why
	}
	if m.s.Life.KeptJob() != nil {
		m.s.Calls.Server.EndLeft(m.s.Record.ID) // as the session's end does
		link.LetGo()
	}
	return m.s.Life.WaitKeptJobs(ctx, nil, ErrOver)
}

// runProcess runs p, whose calls are answered as a container's would be. Its directory is
// the host's own, under the same name.
func (m *processMode) run(ctx context.Context, p Process, link *Launcher) (executor.Status, error) {
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
	// ends with the link, or with ctx.
	m.s.Go(func() { m.endAgent(ctx, link, signals, cancel) })
	cmd := executor.Command{ID: m.s.Record.ID, Path: p.Path, Args: p.Args, Env: p.Env, Dir: at.FD(), NewPrivs: true}
	return m.s.Calls.Server.Runner.Run(ctx, cmd, executor.Streams{
		FD:      stdio,
		Signals: signals,
		Started: func(int) { closeStdio() },
	})
}

// relayEnd ends the agent when its caller says so or is killed, or when a person stops the session.
func (m *processMode) endAgent(ctx context.Context, link *Launcher, signals chan<- executor.Delivery, cancel context.CancelCauseFunc) {
	for lines := link.Lines; m.s.Life.Agent.Asked.Err() == nil; {
		select {
		case line, ok := <-lines:
			if !ok {
				lines = nil
			}
			if !ok || line == "stop" {
				m.s.Life.Agent.Within(AgentGrace)
			}
		case <-m.s.Life.Agent.Asked.Done():
		case <-ctx.Done():
			return
		}
	}
	signals <- executor.Delivery{Signal: "TERM"} // the channel has room for it
	select {
	case <-m.s.Life.Agent.Deadline.Done():
		cancel(StopError{}) // nobody asks again
	case <-ctx.Done():
	}
}

func (u *Launcher) Exited(code int) { fmt.Fprintln(u.f, "exited", strconv.Itoa(code)) }

// encoded is a Process whose strings need not be text.
type encoded struct {
	Path, Dir []byte
	Args, Env [][]byte
}

func encode(p Process) encoded {
	e := encoded{Path: []byte(p.Path), Dir: []byte(p.Dir)}
	for _, arg := range p.Args {
		e.Args = append(e.Args, []byte(arg))
	}
	for _, kv := range p.Env {
		e.Env = append(e.Env, []byte(kv))
	}
	return e
}

func (e encoded) decode() Process {
	p := Process{Path: string(e.Path), Dir: string(e.Dir)}
	for _, arg := range e.Args {
		p.Args = append(p.Args, string(arg))
	}
	for _, kv := range e.Env {
		p.Env = append(p.Env, string(kv))
	}
	return p
}
