// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"path"
	"slices"
	"strings"
)

// toolKind is the static knowledge about a command, found without opening files; a higher value is
// worse. The zero value means that nothing is known; then a rule has to state the effects of the
// command.
type toolKind int

const (
	harmless toolKind = iota - 1 // runs no code that a container could have written
	unknown
	mayRun   // runs such code if configuration or hooks name it
	runsCode // runs such code
)

// code reports whether the tool is known to run code that the container wrote, if only by configuration or hooks.
func (k toolKind) code() bool { return k >= mayRun }

// verbs holds the subcommands of a tool of which only some run code. Subcommands in neither set
// count as running code, because they may come from plugins.
type verbs struct {
	harmless func(string) bool
	other    func(string) bool // these change or print something that the rule's effects state
}

// of returns the knowledge about the tool with arguments args. The verb must come first; with other
// arguments the tool counts as running code.
func (v verbs) of(args []string) toolKind {
	for n := min(len(args), 2); n > 0; n-- {
		switch verb := strings.Join(args[:n], "/"); {
		case v.harmless(verb):
			return harmless
		case v.other != nil && v.other(verb):
			return unknown
		}
	}
	return runsCode
}

// tool returns the canonical name of a command: python for python3.11, eslint for eslint.js.
func tool(name string) string {
	short, _, _ := strings.Cut(name, ".")
	if short = strings.TrimRight(short, "0123456789"); short != "" {
		return strings.TrimRight(short, "-")
	}
	return name
}

// runs reports whether a command called name runs code from files of its working directory, with
// any arguments.
func runs(name string) bool {
	t := tool(name)
	family, _, has := strings.Cut(t, "-")
	return runsDirCode(name) || runsDirCode(t) || has && families(family)
}

// interprets reports whether the command runs code from its arguments. Then two requests for the
// command have nothing in common.
func interprets(name string) bool {
	return slices.ContainsFunc([]string{name, tool(name)}, func(n string) bool { return scripts(n) || commandLanguages(n) || wrappers(n) })
}

// programNames holds the names of one command: its own name, the name of its program, and the names of
// all link targets on the way.
type programNames []string

// String returns the command's own name, followed by the program names in parentheses.
func (names programNames) String() string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return names[0] + " (" + strings.Join(names[1:], ", ") + ")"
}

func (d *decision) names() programNames {
	return d.programs(d.req.Args[0], d.set.Exec, d.c.Path)
}

func (p *Policy) programs(name string, paths ...string) programNames {
	found := slices.Clone(p.Programs[name])
	for _, at := range paths {
		if at != "" {
			found = append(found, path.Base(at))
		}
	}
	all := programNames{name}
	for _, n := range found {
		// A multi-call program behaves according to the name under which it starts: the command's
		// own name.
		if !multiCall(n) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// kind returns the kind of a command with arguments args. It returns the worst kind of all names. If fixed is set, the
// host chose the arguments, so interpreters run no code of the container. gitDir reports that git reads a repository
// that no container can write.
func (names programNames) kind(args []string, fixed, gitDir bool) toolKind {
	worst := harmless
	if names[0] == GitPush { // it reads no repository of the container
		return worst
	}
	for _, n := range names {
		worst = max(worst, knownOf(n, args, fixed, gitDir))
	}
	return worst
}

func knownOf(name string, args []string, fixed, gitDir bool) toolKind {
	t := tool(name)
	tools, has := toolVerbs[t]
	switch {
	case t == "git" && gitDir:
		return unknown
	case has && repositoryTools(t):
		return min(tools.of(args), mayRun)
	case has:
		return tools.of(args)
	case repositoryTools(t):
		return mayRun
	case runs(name) || !fixed && interprets(name):
		return runsCode
	case harmlessCommands(name):
		return harmless
	}
	return unknown
}

// gitDir reports whether git would read a repository that no container can write.
func (d *decision) gitDir() bool {
	return d.set.GitDir == GitHost || d.set.GitDir == GitMount && d.req.GitDirReadOnly
}

// grade returns the grade of a command that no rule decides about.
func (d *decision) grade(args []string) Grade {
	if d.place().Confined() {
		return GradeNone
	}
	return d.names().kind(args, false, d.gitDir()).grade()
}
