// SPDX-License-Identifier: Apache-2.0

// Package policy decides whether a request may run on the host, and how.
//
//	Request -> Decide -> Verdict
//	           1 a broken configuration denies all
//	           2 a rule that denies
//	           3 --proxy X=ACTION
//	           4 the rules of X, if any: deny > ask > allow > no rule: deny
//	           5 the lists of patterns: auto, then manual
//	           6 plain --proxy X allows X
//	           7 deny
//	           a rule of Ruleset.Approved turns ask into allow
//	           GitPush: if no rule decides, each operation has an action of its own (docs/git.md)
//
// Decide is a pure function of the policy and the request. An unset Action denies. Rules match argv elements, never
// joined strings. Only the two lists of patterns match a joined line, in which each argument is quoted. The package
// starts no command, asks nobody and opens no file.
package policy

import (
	"fmt"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Action is the decision of a verdict. The zero value denies.
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

// ParseAction parses allow, ask or deny.
func ParseAction(s string) (Action, error) {
	switch s {
	case "allow":
		return Allow, nil
	case "ask":
		return Ask, nil
	case "deny":
		return Deny, nil
	}
	return Deny, fmt.Errorf("must be allow, ask or deny: %s", names.Quoted(s))
}

// Shell is the command name for texts that run in shells. Its arguments are the options of the shell and of the text,
// and then the text. Its program is bash, even if the host has a program of this name.
const Shell = "shell"

var name = names.Form{First: "A-Za-z0-9", Chars: "A-Za-z0-9._+-", Min: 1, Max: 64}

// ValidName reports whether s can be the name of a command. A name is valid in PATH and as a
// symbolic link. It cannot be parsed as an option or a path.
func ValidName(s string) bool { return name.Matches(s) }

// Request is the content of one call, or of one update of a git-push call.
type Request struct {
	ID             string   // chosen by the host, 16 hex digits
	Args           []string // Args[0] is the name of the command
	Cwd            string   // the caller's directory in the container
	GitDirReadOnly bool     // no container can write the .git directory that git uses in Cwd

	// MoreThanArgs reports that a question would show more of the container than Args, such as variables. No rule
	// of Ruleset.Approved answers it.
	MoreThanArgs bool
}

// Command is a command that a container may request.
type Command struct {
	Name     string
	Action   Action
	Explicit bool   // the user gave the action: --proxy X=ACTION
	Path     string // absolute, in Place; empty if the program is searched there
	Keep     bool   // its jobs may outlive the container, if no rule decides
	Placed   bool   // the user gave Place: it replaces the place of the configuration
	Place    Place  // where it runs and where Path is
	Position string // file:line, if a configuration file lists it as proxied
}

// Policy holds the commands that may be requested and the rules that decide. The zero value denies
// everything.
type Policy struct {
	Broken   string // why the configuration cannot be read; if set, everything is denied
	Commands []Command
	Rules    map[string]Ruleset // by command name
	Defaults Settings           // for all commands
	Auto     []LinePattern      // approval.auto_approve
	Manual   []LinePattern      // approval.manual_approve
	// ShellContainers lists the containers in which --proxy-shell permits shells. Shells on the host need no
	// entry.
	ShellContainers []string

	// Programs holds the names of each command's program on this host: the base name of its path, and of every link
	// target on the way.
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

// Names returns the commands that are proxied or have rules, sorted. It cannot include the commands
// that list patterns match.
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

// Asks reports whether p can lead to a question.
func (p *Policy) Asks() bool {
	if p.Broken != "" {
		return false
	}
	mayAsk := func(q LinePattern) bool { return !q.trusted() }
	asks := func(c Command) bool { return c.Action == Ask || c.Action == Allow && c.Name == GitPush } // pushes ask
	if len(p.Manual) > 0 || slices.ContainsFunc(p.Auto, mayAsk) || slices.ContainsFunc(p.Commands, asks) {
		return true
	}
	for _, set := range p.Rules {
		// A rule that allows asks if it does not accept code and the command may run code from the
		// container. It also asks if its patterns match a path outside of the workspace.
		if slices.ContainsFunc(set.Rules, func(r Rule) bool {
			return r.Do == Ask || r.Do == Allow && (!r.Accept || !r.Anywhere && r.freeArgs())
		}) {
			return true
		}
	}
	return false
}
