// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
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

// followProcess runs the agent that run asks for, and stays until it has ended.
func (w *Watcher) followProcess(ctx context.Context, link *watcherLink) error {
	var line string
	select {
	case line = <-link.lines:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	text, ok := strings.CutPrefix(line, "process ")
	if !ok {
		return errGone
	}
	var e encoded
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err
	}
	st, err := w.runProcess(ctx, e.decode(), link)
	if err != nil && !errors.Is(err, errStopped) {
		link.fail(err)
		return err
	}
	link.exited(st.Code)
	if why := w.agent.stopped.Load(); why != nil {
		return *why
	}
	if w.lasting() != nil {
		w.server.EndLeft(w.rec.ID) // as the session's end does
		link.letGo()
	}
	return w.waitKeptJobs(ctx, nil, "", errOver)
}

// runProcess runs p, whose calls are answered as a container's would be. Its directory is
// the host's own, under the same name.
func (w *Watcher) runProcess(ctx context.Context, p Process, link *watcherLink) (executor.Status, error) {
	dirs, err := mount.NewTable([]mount.Point{{Target: p.Dir, Source: p.Dir, Bind: true}}, mount.Default{})
	if err != nil {
		return executor.Status{}, err
	}
	at, err := dirs.Open(p.Dir)
	if err != nil {
		return executor.Status{}, errors.Join(err, dirs.Close())
	}
	defer at.Close()
	w.applyState("", dirs)
	w.warnOf(w.hostCode([]string{p.Dir}, "which the agent can write"))
	if err := w.save(); err != nil {
		w.log.Error("write down warnings", "error", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan executor.Delivery, 1)
	// ends with the link, or with ctx.
	w.wg.Go(func() { w.relayEnd(ctx, link, signals, cancel) })
	cmd := executor.Command{ID: w.rec.ID, Path: p.Path, Args: p.Args, Env: p.Env, Dir: at.FD(), NewPrivs: true}
	return w.server.Runner.Run(ctx, cmd, executor.Streams{
		FD:      stdio,
		Signals: signals,
		Started: func(int) { closeStdio() },
	})
}

// relayEnd ends the agent when its caller says so or is killed, or when a person stops the session.
func (w *Watcher) relayEnd(ctx context.Context, link *watcherLink, signals chan<- executor.Delivery, cancel context.CancelCauseFunc) {
	for lines := link.lines; w.agent.asked.Err() == nil; {
		select {
		case line, ok := <-lines:
			if !ok {
				lines = nil
			}
			if !ok || line == "stop" {
				w.agent.within(AgentGrace)
			}
		case <-w.agent.asked.Done():
		case <-ctx.Done():
			return
		}
	}
	signals <- executor.Delivery{Signal: "TERM"} // the channel has room for it
	select {
	case <-w.agent.deadline.Done():
		cancel(stopError{}) // nobody asks again
	case <-ctx.Done():
	}
}

func (u *watcherLink) exited(code int) { fmt.Fprintln(u.f, "exited", strconv.Itoa(code)) }

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
