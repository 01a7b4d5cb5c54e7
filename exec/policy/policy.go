// SPDX-License-Identifier: Apache-2.0

// Package policy decides whether a request may run on the host, and as what.
//
//	Request -> Decide -> Verdict
//	           1 a broken configuration denies all
//	           2 a rule that denies
//	           3 --proxy X=ACTION
//	           4 the rules of X, where there are any: deny > ask > allow > no rule: deny
//	           5 the lists of patterns: auto, then manual
//	           6 plain --proxy X allows X
//	           7 deny
//
// Its one law: Decide is a pure function of the policy and the request, and whatever is
// unset denies. It matches argv elements, never strings joined, but for the two lists of
// patterns, which see a line that was quoted; it runs nothing, asks nobody and opens no
// file.
package policy

import (
	"fmt"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/spelling"
)

// Action is what a verdict says. The zero value denies.
type Action int

const (
	Deny Action = iota
	Ask
	Allow
)

func (a Action) String() string {
	switch a {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	}
	return "deny"
}

// ParseAction reads allow, ask or deny.
func ParseAction(s string) (Action, error) {
	switch s {
	case "allow":
		return Allow, nil
	case "ask":
		return Ask, nil
	case "deny":
		return Deny, nil
	}
	return Deny, fmt.Errorf("must be allow, ask or deny: %s", spelling.Quoted(s))
}

// Shell is the name under which commands for shells with state are decided: its arguments
// are what the shell gets for the command, and the command's text last. No program has it.
const Shell = "shell"

var name = spelling.Form{First: "A-Za-z0-9", Of: "A-Za-z0-9._+-", Min: 1, Max: 64}

// ValidName reports whether s can be the name of a command: what PATH and a symbolic
// link can carry, and nothing that could be read as an option or a path.
func ValidName(s string) bool { return name.Matches(s) }

// Request is one call, parsed once and never changed.
type Request struct {
	ID     string   // the host's own, 16 hex digits
	Args   []string // Args[0] is the command's name
	Cwd    string   // the caller's, in the container
	GitDir bool     // no container can write the .git that holds for Cwd
}

// Command is one command that a container may request.
type Command struct {
	Name     string
	Action   Action
	Explicit bool   // the action was typed: --proxy X=ACTION
	Path     string // on the host, absolute; empty when only the configuration knows the command
	Keep     bool   // where no rule decides, its jobs may outlive the container
	Placed   bool   // Place was typed: the configuration's does not count
	Place    Place  // where it runs, and Path is
	Where    string // file:line, if it is a configuration that has it proxied
}

// Policy is what may be requested and how it is decided. Its zero value denies everything.
type Policy struct {
	Broken   string // why the configuration cannot be read: denies everything
	Commands []Command
	Rules    map[string]Ruleset // by the command's name
	Defaults Settings           // of all commands
	Auto     []Pattern          // approval.auto_approve
	Manual   []Pattern          // approval.manual_approve
	Inside   []string           // containers in which --proxy-shell lets shells be; those on the host need no name

	// Programs are the names of the program that runs each command on this host: that of its
	// path, and those of all that the path links to.
	Programs map[string][]string
}

// Lookup returns the proxied command called name.
func (p *Policy) Lookup(name string) (Command, bool) {
	for _, c := range p.Commands {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// Names returns the commands that are proxied or have rules, sorted. What the lists of
// patterns let through has no names.
func (p *Policy) Names() []string {
	var names []string
	for _, c := range p.Commands {
		names = append(names, c.Name)
	}
	for name, set := range p.Rules {
		if len(set.Rules) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Asks reports whether there is anything that p may have a person asked.
func (p *Policy) Asks() bool {
	if p.Broken != "" {
		return false
	}
	doubtful := func(q Pattern) bool { return !q.trusted() }
	if len(p.Manual) > 0 || slices.ContainsFunc(p.Auto, doubtful) || slices.ContainsFunc(p.Commands, func(c Command) bool { return c.Action == Ask }) {
		return true
	}
	for _, set := range p.Rules {
		// One that allows without accepting the container's code asks where there may be some.
		// So does one whose patterns match a path outside of the workspace.
		if slices.ContainsFunc(set.Rules, func(r Rule) bool {
			return r.Do == Ask || r.Do == Allow && (!r.Accept || !r.Anywhere && r.free())
		}) {
			return true
		}
	}
	return false
}
