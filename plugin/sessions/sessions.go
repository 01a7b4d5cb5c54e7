// SPDX-License-Identifier: Apache-2.0

// Package sessions finds sessions and their states. It reads their records, asks their watchers, and asks the engines
// for their containers. It also ends watchers, and the commands of sessions whose watcher and keeper were killed. It
// removes the containers of agents without a watcher.
//
//	records + watchers + engines -> States -> Session{State, Watcher}
//
// It starts no session: plugin/launch does.
package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// The states of a session.
const (
	StateRunning   = control.StateRunning // the watcher serves, and the container runs
	StateWaiting   = control.StateWaiting // the watcher waits: the container is not created, not started, or was just stopped
	StateKeeping   = control.StateKeeping // the container has ended, and some of its jobs continue
	StateExited    = "exited"             // the container is stopped, and the watcher has ended
	StateLost      = "lost"               // the container runs, and the watcher has ended: resume
	StateStopped   = "stopped"            // the container runs, and a person has ended the session
	StateKilled    = "killed"             // the container does not run: hostexec has killed it
	StateGone      = "gone"               // the container is removed: prune
	StateSuspended = "suspended"          // the watcher was suspended by a signal
	StateUnknown   = "unknown"            // the watcher, or without one the engine, does not answer
)

// Session is a session's record and its state.
type Session struct {
	state.Session
	State      string          `json:"state"`
	Watcher    *control.Status `json:"watcher"` // nil if there is no watcher, or it does not answer
	unanswered error           // why an existing watcher has not answered
}

// Unanswered returns why an existing watcher has not answered, or nil.
func (s Session) Unanswered() error { return s.unanswered }

// States returns the sessions of recs with their states. It asks the watcher of each record. If there is none, it asks
// the engine for the container; if the engine does not answer, the state is unknown.
func States(ctx context.Context, dockerCLI command.Cli, store *state.Store, recs []state.Session) []Session {
	engines := make(map[string]map[string]containerState) // containers by ID, by engine
	watchers, unanswered := control.Each(recs, func(rec state.Session) (*control.Status, error) { return AskWatcher(ctx, store, rec.ID) })
	all := make([]Session, len(recs))
	for i, rec := range recs {
		rec = restored(store, rec, watchers[i])
		s := Session{Session: rec, Watcher: watchers[i], unanswered: unanswered[i]}
		switch {
		case errors.As(s.unanswered, new(*control.SuspendedError)):
			s.State = StateSuspended
		case s.unanswered != nil:
			s.State = StateUnknown
		case s.Watcher == nil && (rec.Proxy != nil || rec.OnHost()): // no engine is involved
			s.State = StateGone
		case s.Watcher == nil:
			key := strings.Join(rec.GlobalArgs, "\x00")
			found, asked := engines[key]
			if !asked {
				found = containers(ctx, dockerCLI, rec.GlobalArgs)
				engines[key] = found
			}
			s.State = stateOf(rec.Container, found, store.Stopped(rec.ID))
			if s.State == StateExited && rec.Killed != "" {
				s.State = StateKilled
			}
			s.ContainerName = cmp.Or(found[rec.Container].name, s.ContainerName)
		case rec.Proxy != nil:
			s.State = s.Watcher.State
		default:
			s.State = watchedState(rec, s.Watcher.State)
		}
		if s.Watcher != nil {
			s.Warnings = s.Watcher.Warnings // the record has the warnings of the container's last start
		}
		all[i] = s
	}
	return all
}

// restored returns rec, or the record that the watcher has restored. For a damaged record, List knows only
// the session's ID.
func restored(store *state.Store, rec state.Session, watcher *control.Status) state.Session {
	if rec.Version == "" && watcher != nil {
		if restored, err := store.Load(rec.ID); err == nil {
			return restored
		}
	}
	return rec
}

// stateOf returns the state of a session without a watcher from its engine's containers; found is nil if the
// engine did not answer. stopped means that a person has ended the session.
func stateOf(id string, found map[string]containerState, stopped bool) string {
	if found == nil {
		return StateUnknown
	}
	switch found[id].state {
	case "":
		return StateGone
	case container.StateRunning, container.StatePaused, container.StateRestarting:
		if stopped {
			return StateStopped
		}
		return StateLost
	}
	return StateExited
}

// watchedState returns the state of a session with a watcher. Before the container is created, the watcher reports that
// the session runs.
func watchedState(rec state.Session, watcher string) string {
	if rec.Container == "" && !rec.OnHost() {
		return StateWaiting
	}
	return watcher
}

// AskWatcher returns the status of a session's watcher, or nil if there is none. The error is the reason why
// an existing watcher does not answer.
func AskWatcher(ctx context.Context, store *state.Store, id string) (*control.Status, error) {
	st, err := control.Query(ctx, store.Dir(id), func(c *control.Client, ctx context.Context) (control.Status, error) {
		st, err := c.Status(ctx)
		if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) { // it may have just ended
			return c.Status(ctx)
		}
		return st, err
	})
	switch {
	case errors.Is(err, control.ErrNoWatcher):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return &st, nil
}

// containerState is a container as an engine lists it.
type containerState struct {
	state string
	name  string // it may have been renamed since the watcher ended
}

// containers returns an engine's containers by ID.
func containers(ctx context.Context, dockerCLI command.Cli, globalArgs []string) map[string]containerState {
	api, err := cli.Connect(dockerCLI.ConfigFile(), globalArgs)
	if err != nil {
		return nil
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list, err := api.ContainerList(ctx, container.ListOptions{All: true}) // all of them: an attached container has no label
	if err != nil {
		return nil
	}
	found := make(map[string]containerState, len(list))
	for _, c := range list {
		found[c.ID] = containerState{c.State, ContainerName(c.Names)}
	}
	return found
}

// ContainerName returns a container's own name, or "". Its other names are those of links to it, such as /web/db.
func ContainerName(names []string) string {
	for _, n := range names {
		if n = strings.TrimPrefix(n, "/"); !strings.Contains(n, "/") {
			return n
		}
	}
	return ""
}

// Inspect returns the session that ref names, with its state.
func Inspect(ctx context.Context, dockerCLI command.Cli, store *state.Store, ref string) (Session, error) {
	rec, err := Find(ctx, dockerCLI, store, ref)
	if err != nil {
		return Session{}, cli.Hint(err, "docker hostexec status -a")
	}
	return States(ctx, dockerCLI, store, []state.Session{rec})[0], nil
}

// Find returns the record of the session with the name or id ref. The container may have got that name after
// its watcher ended.
func Find(ctx context.Context, dockerCLI command.Cli, store *state.Store, ref string) (state.Session, error) {
	rec, err := findRestored(ctx, store, ref)
	if err == nil || ref == "" {
		return rec, err
	}
	recs, lerr := store.List()
	if lerr != nil {
		return rec, err
	}
	rebuilt, _ := Rebuilt(ctx, dockerCLI, store, recs)
	if damaged, derr := state.FindIn(rebuilt, ref); derr == nil {
		return damaged, nil
	}
	ctx, cancel := context.WithTimeout(ctx, EngineTimeout)
	defer cancel()
	api, ierr := cli.Connect(dockerCLI.ConfigFile(), cli.GlobalArgs(dockerCLI))
	if ierr != nil {
		return rec, err
	}
	defer api.Close()
	if c, ierr := api.ContainerInspect(ctx, ref); ierr == nil {
		if named, nerr := store.Find(c.ID); nerr == nil {
			return named, nil
		}
		return rec, fmt.Errorf("container %s has no session", names.Quoted(ref))
	}
	return rec, err
}

// findRestored makes watchers restore damaged records, and then calls store.Find. Before, their names are unknown.
func findRestored(ctx context.Context, store *state.Store, ref string) (state.Session, error) {
	recs, err := store.List()
	if err != nil {
		return state.Session{}, err
	}
	for _, rec := range recs {
		if rec.Version == "" {
			_, _ = AskWatcher(ctx, store, rec.ID) // if it does not answer, the session is found only by its ID
		}
	}
	return store.Find(ref)
}

// EngineTimeout is the time limit for an engine's first answer.
const EngineTimeout = 5 * time.Second

// FindAll returns the sessions that refs name, or all sessions.
func FindAll(store *state.Store, refs []string) ([]state.Session, error) {
	if len(refs) == 0 {
		return store.List()
	}
	var recs []state.Session
	for _, ref := range refs {
		rec, err := store.Find(ref)
		if err != nil {
			return nil, cli.Hint(err, "docker hostexec status -a")
		}
		recs = append(recs, rec)
	}
	return recs, nil
}
