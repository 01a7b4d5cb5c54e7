// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// LabelProxy is the label with which a container, or its image, asks for a session. Its value lists names of commands,
// separated by commas. The empty value stands for all commands that the host allows. The label chooses among the
// allowed commands and never adds one, because a compose file, a devcontainer.json or a Dockerfile may come from
// another person.
const LabelProxy = "io.hostexec.proxy"

// Selection says which containers get a session. The zero value selects containers with LabelProxy, and containers of
// services that the configuration has.
type Selection struct {
	Services []string // of docker compose
	Labels   []string // NAME=VALUE, or NAME for any value
	All      bool
}

// selects reports whether a container with labels gets a session. configured: the configuration has its service.
func (s Selection) selects(labels map[string]string, configured bool) bool {
	if s.All {
		return true
	}
	if len(s.Services)+len(s.Labels) == 0 {
		_, asks := labels[LabelProxy]
		return asks || configured
	}
	if service, has := labels[state.LabelService]; has && slices.Contains(s.Services, service) {
		return true
	}
	return slices.ContainsFunc(s.Labels, func(wanted string) bool {
		name, value, exact := strings.Cut(wanted, "=")
		got, has := labels[name]
		return has && (!exact || got == value)
	})
}

// limitToLabel removes from the session the commands that value, the value of LabelProxy, does not name. A command that
// the host limits is denied instead: without its entry, rules of the configuration could allow more. If value names a
// command that the session does not have, limitToLabel returns an error. Commands that only rules of the configuration
// allow stay, because they need no --proxy.
func limitToLabel(rec *state.Session, value string) error {
	named, err := parseLabel(value)
	if err != nil || len(named) == 0 {
		return err
	}
	var refused []string
	for _, name := range named {
		switch {
		case name == policy.Shell && rec.Shell != nil, slices.Contains(append(rec.Names(), rec.RuleCommands...), name):
		default:
			refused = append(refused, name)
		}
	}
	if len(refused) > 0 {
		return errNotAllowed(refused)
	}
	all := rec.Commands
	rec.Commands = nil
	for _, c := range all {
		if slices.Contains(named, c.Name) {
			rec.Commands = append(rec.Commands, c)
		} else if !plain(c) {
			rec.Commands = append(rec.Commands, denied(c))
		}
	}
	if rec.Shell == nil || slices.Contains(named, policy.Shell) {
		return nil
	}
	if plain(*rec.Shell) {
		rec.Shell = nil
	} else {
		sh := denied(*rec.Shell)
		rec.Shell = &sh
	}
	return nil
}

// plain reports whether c only allows a command. Without its entry, no request is allowed that c would deny, ask about
// or place elsewhere.
func plain(c state.Command) bool { return c.Action == "allow" && !c.Explicit && c.Where == nil }

// denied returns the entry that denies c's command.
func denied(c state.Command) state.Command {
	return state.Command{Name: c.Name, Action: "deny", Shim: c.Shim, Explicit: true}
}

// parseLabel returns the names in a value of LabelProxy.
func parseLabel(value string) (named []string, err error) {
	if strings.TrimSpace(value) == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		if err := config.CheckName(name); err != nil {
			return nil, cli.Hint(fmt.Errorf("label %s: %s: %w", LabelProxy, names.Quoted(shortened(name)), err), "names of commands, separated by commas; actions and paths are the host's to say")
		}
		named = append(named, name)
	}
	return named, nil
}

// maxNamed is the number of commands that a refusal names.
const maxNamed = 8

// errNotAllowed returns the error for a label that names commands that the host does not allow.
func errNotAllowed(refused []string) error {
	flags := make([]string, 0, len(refused))
	for _, name := range refused[:min(len(refused), maxNamed)] {
		flag := "--proxy " + name
		if name == policy.Shell {
			flag = "--proxy-shell"
		}
		flags = append(flags, flag)
	}
	return cli.Hint(fmt.Errorf("label %s asks for %s, which this host does not allow it", LabelProxy, strings.Join(refused[:min(len(refused), maxNamed)], ", ")),
		"docker hostexec with "+strings.Join(flags, " ")+" allows it, and so does services: in the configuration")
}
