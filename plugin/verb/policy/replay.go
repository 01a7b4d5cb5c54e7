// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const policyReplayLong = `Show which past requests would be decided differently now

replay decides each request of the audit log again, by the current configuration or, with
--config, by a new file in place of config.yaml. The --proxy flags of a session come from its
record, or from the log if the session was removed. A request that a person answered counts as
one that asked. Equal requests are shown in one line, with their number. Commands that are cut
or redacted in the log are only counted.

EXIT STATUS
  0  the differences were shown
  1  they could not be shown, or the configuration is broken`

func newPolicyReplayCommand(dockerCLI command.Cli) *cobra.Command {
	var since, file string
	cmd := &cobra.Command{
		Use:               "replay [OPTIONS]",
		Short:             "Show which past requests would be decided differently",
		Long:              policyReplayLong,
		Example:           "  docker hostexec policy replay --since 24h\n  docker hostexec policy replay --config new.yaml",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(*cobra.Command, []string) error {
			store, err := state.Open()
			if err != nil {
				return err
			}
			from, err := cli.SinceTime(since, time.Now())
			if err != nil {
				return err
			}
			if file, err = existingFile(file); err != nil {
				return err
			}
			r := redecision{store: store, file: file, configs: map[string]*config.Config{}, sessions: map[string]*past{}}
			if err := r.read(from); err != nil {
				return err
			}
			return errors.Join(r.show(names.ASCIIWriter(dockerCLI.Out()), dockerCLI.Err()), r.broken)
		}),
	}
	cmd.Flags().StringVar(&since, "since", "", "Decide requests since a `time` only (15m, 2026-01-31, 2026-01-31T12:00:00Z)")
	cmd.Flags().StringVar(&file, "config", "", "Use this `file` in place of config.yaml")
	return cmd
}

// redecision decides the requests of the audit log again.
type redecision struct {
	store    *state.Store
	file     string                    // in place of config.yaml, or ""
	configs  map[string]*config.Config // by project
	sessions map[string]*past
	requests []audit.Entry // in the order of the log
	asked    map[string]bool
	changes  []*change
	partial  int   // number of requests that are not completely in the log
	broken   error // the error of the configuration
}

// past is the known part of an earlier session.
type past struct {
	project, workspace string
	commands           []policy.Command
	known              bool // whether its record exists
}

// change is one line of the output.
type change struct {
	was, now, line, before, after string
	times                         int
}

// read reads the decisions from the log.
func (r *redecision) read(from time.Time) error {
	log, err := audit.OpenReader(r.store.Audit())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	r.asked = map[string]bool{}
	for {
		line, err := log.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		e, err := audit.Parse(line.Text)
		if err != nil { // audit --verify reports the details
			continue
		}
		r.learn(e)
		if e.Kind == audit.Request {
			r.asked[e.Request] = true
		}
		decision := e.Kind == audit.Request || e.Kind == audit.AutoApprove || e.Kind == audit.Deny && !r.asked[e.Request]
		if strings.HasPrefix(e.Rule, "limits.") { // limits are not part of the policy
			continue
		}
		if decision && !e.Time.Before(from) {
			r.requests = append(r.requests, e)
		}
	}
}

// learn stores the --proxy flags of a session that e shows, unless the session's record exists.
func (r *redecision) learn(e audit.Entry) {
	p := r.sessions[e.Session]
	if p == nil {
		p = &past{project: "/" + e.Project}
		if rec, err := r.store.Load(e.Session); err == nil {
			p = &past{project: rec.InvokedIn, workspace: rec.Workspace, commands: launch.PolicyCommands(rec.Commands), known: true}
		}
		r.sessions[e.Session] = p
	}
	value, ok := strings.CutPrefix(e.Rule, "--proxy ")
	if p.known || !ok {
		return
	}
	name, action, explicit := strings.Cut(value, "=")
	c := policy.Command{Name: name, Action: policy.Allow, Explicit: explicit}
	if explicit {
		c.Action, _ = policy.ParseAction(action) // an invalid action denies
	}
	for _, old := range p.commands {
		if old.Name == name {
			return
		}
	}
	p.commands = append(p.commands, c)
}

// policy returns the current policy for a session.
func (r *redecision) policy(p *past) *policy.Policy {
	c := r.configs[p.project]
	if c == nil {
		c = config.Load(config.Source{Store: r.store.Home, File: r.file, Project: p.project, Workspace: p.workspace})
		r.configs[p.project] = c
		if c.Err != nil && r.broken == nil {
			if r.broken = configError(c); r.file != "" {
				r.broken = fmt.Errorf("--config: with it all requests would be denied: %s", names.Escaped(c.Err.Error()))
			}
		}
	}
	return c.Policy(p.commands)
}

// decide compares the earlier decision with the current policy's.
func (r *redecision) decide(e audit.Entry) {
	args, ok := e.Split()
	if !ok {
		r.partial++
		return
	}
	was := map[audit.Kind]string{audit.Request: "ask", audit.AutoApprove: "allow", audit.Deny: "deny"}[e.Kind]
	v := r.policy(r.sessions[e.Session]).Decide(policy.Request{Args: args, GitDir: true})
	now := v.Action.String()
	// A request that a rule allows may have been refused for its directory or its operands.
	if was == now || was == "deny" && v.Rule == e.Rule {
		return
	}
	line := policy.Line(args)
	for _, c := range r.changes {
		if c.was == was && c.now == now && c.line == line && c.before == e.Rule && c.after == v.Rule {
			c.times++
			return
		}
	}
	r.changes = append(r.changes, &change{was, now, line, e.Rule, v.Rule, 1})
}

// show decides all requests, and prints the changes.
func (r *redecision) show(out, notes io.Writer) error {
	for _, e := range r.requests {
		r.decide(e)
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	if len(r.changes) > 0 {
		fmt.Fprintln(w, "TIMES\tWAS\tNOW\tRULE\tCOMMAND")
	}
	for _, c := range r.changes {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s -> %s\t%s\n", c.times, c.was, c.now, orNone(c.before), orNone(c.after), names.Escaped(c.line))
	}
	n := 0
	for _, c := range r.changes {
		n += c.times
	}
	cli.Say(notes, "%d of %s would be decided differently", n, cli.Count(len(r.requests)-r.partial, "request"))
	if r.partial > 0 {
		cli.Say(notes, "%d more cannot be told: the log has not all of their arguments", r.partial)
	}
	return w.Flush()
}

func orNone(rule string) string {
	if rule == "" || rule == "-" {
		return "none"
	}
	return names.Escaped(rule)
}

// existingFile returns the absolute path of an existing file, or "" for "".
func existingFile(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("--config: %w", err)
	}
	return filepath.Abs(file)
}
