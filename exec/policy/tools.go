// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"path"
	"slices"
	"strings"
)

// knowledge is what is known about a command, without a look at any file; the higher, the worse.
// The zero value means that nothing is known: then a rule has to say what the command does.
type knowledge int

const (
	harmless knowledge = iota - 1 // it runs nothing that a container could have written
	unknown
	mayRun   // it runs such code if configuration or hooks say so
	runsCode // it runs such code
)

// code reports whether the command counts as one that runs code of the container's.
func (k knowledge) code() bool { return k >= mayRun }

// verbs are the subcommands of a tool that has both kinds. All that are named in neither set
// run code: they may be those of plugins.
type verbs struct {
	harmless func(string) bool
	other    func(string) bool // they change or show something, which a rule's effects say
}

// of returns what is known of the tool when its arguments are args. The verb comes first, or
// else it is not known.
func (v verbs) of(args []string) knowledge {
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

// tool returns what a command is known as: python3.11 is python, and eslint.js is eslint.
func tool(name string) string {
	short, _, _ := strings.Cut(name, ".")
	if short = strings.TrimRight(short, "0123456789"); short != "" {
		return strings.TrimRight(short, "-")
	}
	return name
}

// runs reports whether a command called name runs code that it finds in files of its working
// directory, whatever its arguments.
func runs(name string) bool {
	t := tool(name)
	family, _, has := strings.Cut(t, "-")
	return builders(name) || builders(t) || has && families(family)
}

// Interprets reports whether the command runs what its arguments say, so that two requests
// for it have nothing in common.
func Interprets(name string) bool {
	return slices.ContainsFunc([]string{name, tool(name)}, func(n string) bool { return scripts(n) || talkers(n) || wrappers(n) })
}

// programs are the names under which one command is known: its own, those of its program,
// and those of all that this links to.
type programs []string

// String returns the command's own name, and in parentheses those of its program.
func (names programs) String() string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return names[0] + " (" + strings.Join(names[1:], ", ") + ")"
}

// names returns the names of the command that is called.
func (d *decision) names() programs {
	return d.programs(d.req.Args[0], d.set.Exec, d.c.Path)
}

func (p *Policy) programs(name string, paths ...string) programs {
	found := slices.Clone(p.Programs[name])
	for _, at := range paths {
		if at != "" {
			found = append(found, path.Base(at))
		}
	}
	all := programs{name}
	for _, n := range found {
		// One program that is many does what it is called as, which is the command's own name.
		if !manyInOne(n) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// known returns what is known of a command when its arguments are args. Those that the host
// fixed say nothing of the container's. The worst that is known of one of the names holds.
// gitDir says that git reads a repository that no container can write to.
func (names programs) known(args []string, fixed, gitDir bool) knowledge {
	worst := harmless
	for _, n := range names {
		worst = max(worst, knownOf(n, args, fixed, gitDir))
	}
	return worst
}

func knownOf(name string, args []string, fixed, gitDir bool) knowledge {
	t := tool(name)
	tools, has := toolVerbs[t]
	switch {
	case t == "git" && gitDir:
		return unknown
	case has && repositories(t):
		return min(tools.of(args), mayRun)
	case has:
		return tools.of(args)
	case repositories(t):
		return mayRun
	case runs(name) || !fixed && Interprets(name):
		return runsCode
	case reads(name):
		return harmless
	}
	return unknown
}

// gitDir reports whether the repository that git would read is one that no container can
// write.
func (d *decision) gitDir() bool {
	return d.set.GitDir == GitHost || d.set.GitDir == GitMount && d.req.GitDir
}

// grade returns the knowledge about a command without a rule.
func (d *decision) grade(args []string) Grade {
	if d.place().Contained() {
		return GradeNone
	}
	return d.names().known(args, false, d.gitDir()).grade()
}
