// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// pastLog is the audit log with the sessions that it is about, and their policies by the current configuration. Its
// memory does not grow with the number of records.
type pastLog struct {
	store    *state.Store
	src      config.Source                // its File and Draft are used. Sessions without a record, whose project has the base name of Project, count as started in Project
	configs  map[string]*config.Config    // by project and workspace
	policies map[[3]string]*policy.Policy // by project, workspace, and commands with the containers of shells
	sessions map[string]*earlierSession
	broken   error // the error of the configuration
}

// earlierSession is the known part of an earlier session.
type earlierSession struct {
	project, workspace string
	commands           []policy.Command
	shellContainers    []string // those of --proxy-shell
	known              bool     // whether its record exists
	policy             *policy.Policy
}

func newPastLog(store *state.Store, src config.Source) *pastLog {
	return &pastLog{store: store, src: src, configs: map[string]*config.Config{}, policies: map[[3]string]*policy.Policy{}, sessions: map[string]*earlierSession{}}
}

// each calls f for each record of the log since from. It skips lines that are not records; audit verify reports them.
func (l *pastLog) each(from time.Time, f func(audit.Entry)) error {
	r, err := l.open()
	if r == nil || err != nil {
		return err
	}
	defer r.Close()
	if !from.IsZero() {
		if err := r.SkipBefore(from); err != nil {
			return err
		}
	}
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e, err := audit.Parse(line.Text); err == nil {
			f(e)
		}
	}
}

// open opens the log. It returns nil if there is none.
func (l *pastLog) open() (*audit.Reader, error) {
	r, err := audit.OpenReader(l.store.Audit())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, err
}

// session returns the session of e.
func (l *pastLog) session(e audit.Entry) *earlierSession {
	p := l.sessions[e.Session]
	if p != nil {
		return p
	}
	if rec, err := l.store.Load(e.Session); err == nil {
		p = &earlierSession{project: rec.InvokedIn, workspace: rec.Workspace, commands: config.PolicyCommands(rec.Proxied()), known: true}
		if rec.Shell != nil {
			p.shellContainers = rec.Shell.In
		}
	} else if l.src.Project != "" && config.ProjectName(l.src.Project) == config.ProjectName("/"+e.Project) {
		p = &earlierSession{project: l.src.Project, workspace: l.src.Workspace}
	} else {
		p = &earlierSession{project: strings.Clone("/" + e.Project)}
	}
	l.sessions[strings.Clone(e.Session)] = p
	return p
}

// isHere reports whether e is of a session that was started in the project of l.src.
func (l *pastLog) isHere(e audit.Entry) bool {
	p := l.session(e)
	return p.project == l.src.Project || p.known && p.project == l.src.Workspace
}

// note stores the --proxy flag that e shows, unless the record of its session exists.
func (l *pastLog) note(e audit.Entry) {
	p := l.session(e)
	value, ok := strings.CutPrefix(e.Rule, "--proxy ")
	if p.known || !ok {
		return
	}
	name, action, explicit := strings.Cut(strings.Clone(value), "=")
	i := slices.IndexFunc(p.commands, func(c policy.Command) bool { return c.Name == name })
	if i < 0 {
		c := policy.Command{Name: name, Action: policy.Allow, Explicit: explicit}
		if explicit {
			c.Action, _ = policy.ParseAction(action) // an invalid action denies
		}
		i, p.commands = len(p.commands), append(p.commands, c)
	}
	if args, whole := e.Split(); whole && (e.Kind != audit.Deny || e.By != "") { // otherwise the flag denied the container
		if in := (&policy.Verdict{Args: args}).TargetContainer(); in != "" && !slices.Contains(p.shellContainers, in) {
			p.shellContainers = append(p.shellContainers, strings.Clone(in))
		}
	}
	if c := &p.commands[i]; e.Path != "" && c.Path == "" {
		setProgram(c, strings.Clone(e.Path))
	}
}

// setProgram sets the place and the path of c from a record, as policy.Verdict.Program gives them.
func setProgram(c *policy.Command, program string) {
	where, path, placed := strings.Cut(program, " ")
	if strings.HasPrefix(program, "/") || !placed {
		c.Path = program
		return
	}
	where, _, _ = strings.Cut(where, ",")
	if place, err := config.ParsePlace(where); err == nil {
		c.Path, c.Placed, c.Place = path, true, place
	}
}

// policy returns the current policy for a session. Call it only after note has seen all records: the result is kept.
func (l *pastLog) policy(p *earlierSession) *policy.Policy {
	if p.policy == nil {
		key := [3]string{p.project, p.workspace, fmt.Sprintf("%+v", []any{p.commands, p.shellContainers})}
		if l.policies[key] == nil {
			l.policies[key] = l.config(p).Policy(p.commands)
			l.policies[key].ShellContainers = p.shellContainers
		}
		p.policy = l.policies[key]
	}
	return p.policy
}

// config returns the current configuration for a session.
func (l *pastLog) config(p *earlierSession) *config.Config {
	key := p.project + "\x00" + p.workspace
	c := l.configs[key]
	if c == nil {
		c = config.Load(config.Source{Store: l.store.Home, File: l.src.File, Draft: l.src.Draft, Project: p.project, Workspace: p.workspace})
		l.configs[key] = c
		if c.Err != nil && l.broken == nil {
			if l.broken = configError(c); l.src.File != "" {
				l.broken = fmt.Errorf("--config: with it all requests would be denied: %s", names.Escaped(c.Err.Error()))
			}
		}
	}
	return c
}
