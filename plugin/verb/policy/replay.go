// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const policyReplayLong = `Show which past requests would be decided differently now

replay decides each request of the audit log again, by the current configuration. With
--config, it uses a new file in place of config.yaml. The --proxy flags of a session come from
its record, or from the log if the session was removed. A request that a person answered counts
as one that asked. Equal requests are shown in one line, with their number. Commands that are
cut or redacted in the log are only counted.

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
		RunE: cli.Verb(cli.With(state.Open, func(_ *cobra.Command, store *state.Store, _ []string) error {
			from, err := cli.SinceTime(since, time.Now())
			if err != nil {
				return err
			}
			if file, err = existingFile(file); err != nil {
				return err
			}
			log := newPastLog(store, config.Source{File: file})
			if err := log.each(time.Time{}, log.note); err != nil {
				return err
			}
			r, err := replay(log, from)
			if err != nil {
				return err
			}
			return errors.Join(r.show(names.ASCIIWriter(dockerCLI.Out()), dockerCLI.Err()), log.broken)
		})),
	}
	cmd.Flags().StringVar(&since, "since", "", "Decide requests since a `time` only (15m, 7d, 2026-01-31, 2026-01-31T12:00:00Z)")
	cmd.Flags().StringVar(&file, "config", "", "Use this `file` in place of config.yaml")
	return cmd
}

// redecision decides the requests of the audit log again.
type redecision struct {
	log      *pastLog
	from     time.Time
	asked    map[string]bool // requests that a person has not answered yet
	changes  map[change]int  // how often
	hidden   int             // changed requests beyond maxChanges
	requests int
	partial  int // requests that are not completely in the log
}

// maxChanges limits the number of different changes, because a container chooses the arguments of its requests.
const maxChanges = 1000

// maxWait is longer than almost any question waits. The log is read from maxWait before the given time, so that the
// question of a denial is known. A denial whose question is older counts as a request of its own.
const maxWait = 24 * time.Hour

// change is one line of the output.
type change struct {
	Was     string `json:"was"`
	Now     string `json:"now"`
	Before  string `json:"rule_before"`
	After   string `json:"rule_now"`
	Command string `json:"command"`
}

// replay decides the requests of log since from again.
func replay(log *pastLog, from time.Time) (*redecision, error) {
	r := &redecision{log: log, from: from, asked: map[string]bool{}, changes: map[change]int{}}
	if !from.IsZero() {
		from = from.Add(-maxWait)
	}
	return r, log.each(from, r.entry)
}

func (r *redecision) entry(e audit.Entry) {
	decision := e.Kind == audit.Request || e.Kind == audit.AutoApprove || e.Kind == audit.Deny && !r.asked[e.Request]
	switch e.Kind {
	case audit.Request:
		r.asked[strings.Clone(e.Request)] = true
	case audit.Approve, audit.Deny, audit.Timeout, audit.Cancel:
		delete(r.asked, e.Request)
	}
	if decision && !e.Time.Before(r.from) && !strings.HasPrefix(e.Rule, "limits.") { // limits are not part of the policy
		r.decide(e)
	}
}

// decide compares the earlier decision with the current policy's.
func (r *redecision) decide(e audit.Entry) {
	args, ok := e.Split()
	if !ok {
		r.partial++
		return
	}
	r.requests++
	was := map[audit.Kind]string{audit.Request: "ask", audit.AutoApprove: "allow", audit.Deny: "deny"}[e.Kind]
	v := r.log.policy(r.log.session(e)).Decide(policy.Request{Args: args, GitDirReadOnly: true})
	now := v.Action.String()
	// A request that a rule allows may have been refused for its directory or its operands.
	if was == now || was == "deny" && v.Rule == e.Rule {
		return
	}
	c := change{was, now, orNone(e.Rule), orNone(v.Rule), names.Escaped(policy.CommandLine(args))}
	if r.changes[c] == 0 && len(r.changes) >= maxChanges {
		r.hidden++
		return
	}
	c.Before = strings.Clone(c.Before) // it is a part of the line of the log
	r.changes[c]++
}

// sorted returns the changes, the most frequent first.
func (r *redecision) sorted() []change {
	return slices.SortedFunc(maps.Keys(r.changes), func(a, b change) int {
		return cmp.Or(r.changes[b]-r.changes[a], cmp.Compare(a.Command, b.Command), cmp.Compare(a.Was, b.Was), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
	})
}

// different returns the number of requests that would be decided differently.
func (r *redecision) different() int {
	n := r.hidden
	for _, times := range r.changes {
		n += times
	}
	return n
}

// show prints the changes.
func (r *redecision) show(out, notes io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	if len(r.changes) > 0 {
		fmt.Fprintln(w, "TIMES\tWAS\tNOW\tRULE\tCOMMAND")
	}
	for _, c := range r.sorted() {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s -> %s\t%s\n", r.changes[c], c.Was, c.Now, c.Before, c.After, c.Command)
	}
	cli.Say(notes, "%d of %s would be decided differently", r.different(), cli.Count(r.requests, "request"))
	if r.hidden > 0 {
		cli.Say(notes, "%d of these are not shown: there are more than %d different ones", r.hidden, maxChanges)
	}
	if r.partial > 0 {
		cli.Say(notes, "%d more cannot be decided: the log does not have all of their arguments", r.partial)
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
