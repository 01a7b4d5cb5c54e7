// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A client may keep a container although the flags or the configuration have changed: compose compares its own files
// only. The session of such a container keeps the commands that it had at the container's creation.

// labelProjectDir is the label with the directory of a container's compose project.
const labelProjectDir = "com.docker.compose.project.working_dir"

// existingContainer is a selected container that existed before this proxy started.
type existingContainer struct {
	container.Summary
	session *state.Session // nil: it has no session
	plan    *launch.Plan   // for a container that is created now with the same labels
}

// RemoveDisallowed removes from the sessions of existing containers the commands and variables that the host does not
// allow any more. If a session that loses something has a watcher, its running calls end, and a new watcher serves it.
func (l *SessionLauncher) RemoveDisallowed(ctx context.Context) error {
	all, err := l.existing(ctx)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.session == nil {
			continue
		}
		less := restricted(*e.session, e.plan.Record)
		if reflect.DeepEqual(less, *e.session) {
			continue
		}
		if err := l.replaceSession(ctx, less); err != nil {
			return fmt.Errorf("container %s: %w", e.session.ContainerName, err)
		}
		may := "no command"
		if left := launch.Allowed(less.Proxied()); len(left) > 0 {
			may = "only " + strings.Join(left, ", ")
		}
		l.note("session %s: container %s may call %s now", less.ID, less.ContainerName, may)
	}
	return nil
}

// replaceSession saves rec as the record of its session. If a watcher serves the session, a new watcher takes its
// place.
func (l *SessionLauncher) replaceSession(ctx context.Context, rec state.Session) error {
	st, err := sessions.AskWatcher(ctx, l.store, rec.ID)
	if err == nil && st != nil {
		err = sessions.StopWatcher(ctx, l.store.Dir(rec.ID), rec.ID, sessions.DefaultGrace)
	}
	if err == nil {
		err = l.store.Save(&rec)
	}
	if err != nil || st == nil {
		return err
	}
	if err := l.store.NoteStopped(rec.ID, false); err != nil { // no person has stopped the session
		return err
	}
	return l.resume(ctx, rec)
}

// Differences returns a line, with what to do, for each existing container that lacks something that a new one would
// get: a session, commands, or flags.
func (l *SessionLauncher) Differences(ctx context.Context) (lines []string, err error) {
	all, err := l.existing(ctx)
	for _, e := range all {
		service := e.Labels[state.LabelService]
		again := "remove it, and create it again"
		if service != "" {
			again = "create it again with docker hostexec compose, up --force-recreate " + names.Quoted(service)
		}
		switch {
		case e.session == nil && e.State == container.StateRunning:
			lines = append(lines, fmt.Sprintf("container %s was created without a session: %s, or docker hostexec attach --proxy COMMAND %[1]s", e.name(), again))
		case e.session == nil:
			lines = append(lines, fmt.Sprintf("container %s was created without a session: %s", e.name(), again))
		case !covers(*e.session, e.plan.Record):
			lines = append(lines, fmt.Sprintf("container %s was created with other commands or flags, and keeps them: %s", e.name(), again))
		}
	}
	return lines, err
}

func (e existingContainer) name() string {
	return cmp.Or(sessions.ContainerName(e.Names), e.ID[:min(len(e.ID), 12)])
}

// existing returns the selected containers of this directory for which the flags or the configuration name commands.
func (l *SessionLauncher) existing(ctx context.Context) (all []existingContainer, err error) {
	conf := l.config()
	given := len(l.opts.Proxies) > 0 || l.opts.Shell != ""
	if !given && len(conf.Services) == 0 {
		return nil, nil
	}
	list, err := l.cli.Client().ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, fmt.Errorf("look for containers: %w", err)
	}
	recs, err := l.store.List()
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		e := existingContainer{Summary: c}
		if i := slices.IndexFunc(recs, func(rec state.Session) bool { return rec.Container == c.ID }); i >= 0 {
			e.session = &recs[i]
		}
		_, configured := conf.Services[c.Labels[state.LabelService]]
		if !given && !configured || !e.ofDirectory(l.opts.Dir) || e.session != nil && !e.session.StartedLater {
			continue
		}
		if e.plan, err = l.plan(c.Image, false, c.Labels, conf); err != nil {
			return nil, fmt.Errorf("container %s: %w", e.name(), err)
		}
		if e.plan != nil {
			_ = limitToLabel(&e.plan.Record, c.Labels[LabelProxy]) // if the label asks for more, the allowed part remains
			all = append(all, e)
		}
	}
	return all, nil
}

// ofDirectory reports whether the container belongs to dir. Other directories may have services of the same names.
func (e existingContainer) ofDirectory(dir string) bool {
	if e.session != nil {
		return e.session.InvokedIn == dir
	}
	at, ok := e.Labels[labelProjectDir]
	return ok && filepath.Clean(at) == filepath.Clean(dir)
}

// restricted returns session old without the commands and variables that session now does not have, and with the
// denials of both.
func restricted(old, now state.Session) state.Session {
	rest := old
	rest.Commands = old.Commands[:0:0] // nil stays nil, and an empty list stays one: then nothing has changed
	for _, c := range old.Commands {
		if r := restrictedCommand(&c, state.FindCommand(now.Commands, c.Name)); r != nil {
			rest.Commands = append(rest.Commands, *r)
		}
	}
	for _, c := range now.Commands {
		if state.FindCommand(old.Commands, c.Name) == nil && denies(c) {
			rest.Commands = append(rest.Commands, denied(c))
		}
	}
	rest.Shell = restrictedCommand(old.Shell, now.Shell)
	rest.PassEnv = inBoth(old.PassEnv, now.PassEnv)
	rest.NewPrivs = old.NewPrivs && now.NewPrivs
	return rest
}

// restrictedCommand returns the entry of a session for a command. old is the entry that the session has, now is the one
// that a new session would have. Each of them may be nil, and the result, too.
func restrictedCommand(old, now *state.Command) *state.Command {
	var c state.Command
	switch {
	case old == nil && (now == nil || !denies(*now)):
		return nil
	case old == nil:
		c = denied(*now)
		return &c
	case denies(*old):
		return old
	case now != nil && !denies(*now):
		if c, allowed := stricterCommand(*old, *now); allowed {
			return &c
		}
	}
	if plain(*old) && (now == nil || plain(*now)) { // rules of the configuration decide, as in a new session
		return nil
	}
	c = denied(*old)
	return &c
}

// denies reports whether c denies its command.
func denies(c state.Command) bool {
	action, _ := policy.ParseAction(c.Action) // an unknown action is Deny
	return action == policy.Deny
}

// stricterCommand returns c with the stricter action and place of c and now, which both do not deny. allowed is false
// if now has another program than c, or a place that does not contain c's place.
func stricterCommand(c, now state.Command) (stricter state.Command, allowed bool) {
	if c.Path != now.Path && !(c.Found && now.Found) { // PATH may differ between terminals
		return c, false
	}
	if c.Where, allowed = narrowerPlace(c.Where, now.Where); !allowed {
		return c, false
	}
	if len(c.In) > 0 || len(now.In) > 0 {
		if c.In = inBoth(c.In, now.In); len(c.In) == 0 {
			return c, false
		}
	}
	switch {
	case now.Action == "ask":
		c.Action, c.Explicit = now.Action, now.Explicit
	case c.Action == "allow": // with Explicit, rules cannot ask
		c.Explicit = c.Explicit && now.Explicit
	}
	c.Keep = c.Keep && now.Keep
	return c, true
}

// narrowerPlace returns the narrower of two places for a command: old, where the command ran, and now, where it may
// run. The host is the widest place and contains all others. A nil place means: the configuration decides. allowed is
// false if neither place contains the other, or if the command would move from the host into a container.
func narrowerPlace(old, now *state.Place) (place *state.Place, allowed bool) {
	onHost := func(p *state.Place) bool { return p == nil || *p == state.Place{} }
	switch {
	case onHost(old) && (now == nil || *now == state.Place{Sandboxed: true}):
		return now, true
	case onHost(now):
		return old, true
	}
	return old, old != nil && *old == *now
}

// inBoth returns the values that are in both old and now.
func inBoth(old, now []string) []string {
	return slices.DeleteFunc(slices.Clone(old), func(v string) bool { return !slices.Contains(now, v) })
}

// covers reports whether old, a restricted session, has every command and variable of now. It has the denials of now.
func covers(old, now state.Session) bool {
	has := func(all []state.Command, c state.Command) bool {
		return slices.ContainsFunc(all, func(o state.Command) bool {
			c.Explicit, c.Found, o.Explicit, o.Found = false, false, false, false
			return reflect.DeepEqual(o, c)
		})
	}
	for _, c := range now.Commands {
		if !denies(c) && !has(old.Commands, c) {
			return false
		}
	}
	if now.Shell != nil && !denies(*now.Shell) && (old.Shell == nil || !has([]state.Command{*old.Shell}, *now.Shell)) {
		return false
	}
	missing := func(v string) bool { return !slices.Contains(old.PassEnv, v) }
	return !slices.ContainsFunc(now.PassEnv, missing) && (old.NewPrivs || !now.NewPrivs) && old.Workspace == now.Workspace && old.WorkdirHost == now.WorkdirHost
}

// config returns the configuration for the directory and the workspace of the flags.
func (l *SessionLauncher) config() *config.Config {
	workspace := l.opts.Dir
	if l.opts.Workspace != "" {
		workspace, _ = cli.Directory(l.opts.Workspace) // Plan returns the error
	}
	return config.Load(config.Source{Store: l.store.Home, Project: l.opts.Dir, Workspace: workspace})
}
