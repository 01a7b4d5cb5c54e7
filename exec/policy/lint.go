// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Lint returns the problems of a policy: failed tests of rules, entries with no effect, and entries that allow more
// than they seem to.
func (p *Policy) Lint() []Problem {
	l := linter{policy: p}
	for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
		l.command(name, p.Rules[name])
	}
	l.lists()
	return append(l.problems, p.failures()...)
}

type linter struct {
	policy   *Policy
	problems []Problem
}

func (l *linter) add(where, rule string, fatal bool, format string, args ...any) {
	l.problems = append(l.problems, Problem{Position: where, Rule: rule, Text: fmt.Sprintf(format, args...), Fatal: fatal})
}

// subject is the rule under examination.
type subject struct {
	*Rule
	title string
	names programNames // of the command and of its program
	set   *Ruleset
}

func (l *linter) command(name string, set Ruleset) {
	// Rules that do not parse are reported elsewhere.
	unready := func(r Rule) bool { return !r.ready }
	set.Rules = slices.DeleteFunc(slices.Clone(set.Rules), unready)
	set.Approved = slices.DeleteFunc(slices.Clone(set.Approved), unready)
	names := l.policy.programs(name, set.Exec)
	if name != GitPush && slices.ContainsFunc(names, func(n string) bool { return tool(n) == "git" }) && !set.Place.Confined() {
		l.git(name, set)
	}
	if len(set.Rules) == 0 && (set.Settings.Stdin != nil || set.Settings.TTY != nil || set.Settings.Output != nil) {
		l.add(set.Position, name, false, "stdin, tty and output say nothing about a command that is proxied as a whole: write rules")
	}
	for _, r := range set.all() {
		s := subject{&r, r.Title(name), names, &set}
		confined := set.Place.Confined() || r.Confined
		if !confined {
			l.checkDangerous(s)
		}
		l.elements(s)
		l.paths(s)
		if !confined && name != GitPush {
			l.escapes(s)
		}
		l.settings(s)
		l.untested(s)
		if len(r.Preview) > 0 && r.neverAsks(set.Place) {
			l.add(r.Position, s.title, false, "preview has no effect: the rule allows, and nobody is asked")
		}
	}
	l.shadows(name, set)
	l.sandbox(name, set, names)
}

// sandbox warns about settings of sandboxes without effect, and about credentials that code of the container could
// read.
func (l *linter) sandbox(name string, set Ruleset, names programNames) {
	switch {
	case !set.Place.Sandboxed && !set.Sandbox.Empty() && !set.previews():
		l.add(set.Position, name, false, "sandbox has no effect without where: sandbox, or --proxy %s,where=sandbox", name)
	case len(set.Sandbox.Creds)+len(set.Sandbox.Env) > 0 && names.kind(nil, false, false) == runsCode:
		l.add(set.Position, name, false, "%s runs code that the container writes: that code can read what creds and env name", name)
	}
}

// git warns about repositories of the container: git runs programs that the repository
// configuration names, unless the repository is on the host.
func (l *linter) git(name string, set Ruleset) {
	env := value(set.Settings.Env)
	named := env.Set["GIT_DIR"] != "" || slices.ContainsFunc(set.Prepend, func(s string) bool { return strings.HasPrefix(s, "--git-dir=") })
	switch {
	case set.GitDir == GitHost && !named:
		l.add(set.Position, name, true, "gitdir: host, but neither prepend has --git-dir=DIR nor env.set GIT_DIR: git would read the container's")
	case set.GitDir == "" && len(set.Rules) > 0:
		l.add(set.Position, name, slices.ContainsFunc(set.Rules, func(r Rule) bool { return r.Do == Allow && !r.Accept }),
			"git runs what .git/config says: without gitdir: ro-mount (or host) every rule may run code of the container, and allow asks")
	}
}

// checkDangerous reports commands that no argument rule makes safe.
func (l *linter) checkDangerous(s subject) {
	allow := s.Do == Allow
	for _, n := range s.names {
		switch {
		case interprets(n) && s.freeArgs() && s.Do != Deny:
			l.add(s.Position, s.title, allow, "%s runs what its arguments say: name them all (words, any), or use fixed", n)
			return
		case s.Do != Deny && s.controlsEngine(tool(n)):
			l.add(s.Position, s.title, allow, "root-equivalent: with this verb of %s the caller can have any file and any privilege of the host", n)
			return
		}
	}
	if !allow || s.Accept {
		return
	}
	kind := s.kind()
	switch {
	case kind.code():
		l.add(s.Position, s.title, true, "%s runs code that the container may have written, so allow asks: write accept: %s to allow it, or where: sandbox to confine it", s.names, CodeAccepted)
	case slices.Contains(s.Effects, "code"):
		l.add(s.Position, s.title, true, "effects has code, so allow asks: write accept: %s to allow it, or where: sandbox to confine it", CodeAccepted)
	case kind == unknown && len(s.Effects) == 0:
		l.add(s.Position, s.title, true, "effects is missing, and %s is not known to be harmless, so allow asks: write effects: with those of read, write, network and code that it has", s.names)
	}
}

// kind returns the worst kind of the command over all arguments that the rule matches.
// Lint checks git separately.
func (s subject) kind() toolKind {
	lists := [][]string{s.Fixed}
	if s.Fixed == nil {
		lists = s.verbs()
	}
	worst := harmless
	for _, args := range lists {
		worst = max(worst, s.names.kind(args, s.Fixed != nil, true))
	}
	return worst
}

// verbs returns the literal words at the start of the rule's arguments, at most two.
func (r *Rule) verbs() [][]string {
	all := [][]string{nil}
	for _, e := range r.Argv {
		if e.Kind == KindInsert {
			continue
		}
		if e.Kind != KindWord && e.Kind != KindAny || len(all[0]) == 2 {
			break
		}
		var longer [][]string
		for _, args := range all {
			for _, w := range e.Words {
				longer = append(longer, append(slices.Clone(args), w))
			}
		}
		all = longer
	}
	return all
}

// freeArgs reports whether the caller chooses arguments that the rule does not spell out.
func (r *Rule) freeArgs() bool {
	if r.Fixed != nil {
		return false
	}
	return slices.ContainsFunc(r.Argv, func(e Element) bool {
		return e.Kind == KindRegexp || e.Kind == KindArgs || e.Kind == KindPath || len(e.Opts) > 0
	})
}

// With these verbs and options of a container engine, the caller gets the privileges of root. rootNested has the verbs
// of verbs.
var (
	engines    = names.WordSet("docker podman nerdctl")
	rootVerbs  = names.WordSet("run create exec build buildx cp plugin context commit")
	rootNested = map[string]func(string) bool{
		"compose":   names.WordSet("up run exec build create"),
		"container": rootVerbs, "image": rootVerbs, "builder": rootVerbs,
	}
	rootOpts = names.WordSet("-H --host -c --context --config")
)

// controlsEngine reports whether the caller can use a verb or an option of a container engine that gives root's
// privileges. It is false for a rule that inserts or fixes the operation.
func (s subject) controlsEngine(name string) bool {
	if !engines(name) || s.Fixed != nil {
		return false
	}
	var verbs []Element
	for _, e := range s.Argv {
		if e.Kind == KindOptions && (slices.ContainsFunc(e.Flags, rootOpts) || slices.ContainsFunc(e.Opts, func(o Opt) bool { return rootOpts(o.Name) })) {
			return true
		}
		if e.Kind == KindInsert {
			return false
		}
		if e.Kind == KindWord || e.Kind == KindAny {
			verbs = append(verbs, e)
		}
	}
	if len(verbs) == 0 {
		return s.freeArgs()
	}
	if slices.ContainsFunc(verbs[0].Words, rootVerbs) {
		return true
	}
	return len(verbs) > 1 && slices.ContainsFunc(verbs[0].Words, func(v string) bool {
		return rootNested[v] != nil && slices.ContainsFunc(verbs[1].Words, rootNested[v])
	})
}

// settings reports settings that permit more than the arguments in the rule show.
func (l *linter) settings(s subject) {
	set := s.Settings.Over(s.set.Settings.Over(l.policy.Defaults))
	if value(set.Stdin).Mode == StdinPipe && s.Do == Allow && slices.ContainsFunc(s.names, readsCommandsFromStdin) {
		l.add(s.Position, s.title, true, "stdin: pipe lets the caller say what runs: capture(64KiB) and do: ask show it first")
	}
	env := value(set.Env).Set
	if value(set.TTY) && s.Do != Deny && env["PAGER"] != "cat" && slices.ContainsFunc(s.names, func(n string) bool { return pagerStarters(n) || pagerStarters(tool(n)) }) {
		l.add(s.Position, s.title, s.Do == Allow, "on a terminal it may start a pager, which starts a shell: leave tty out, or set PAGER: cat and the tool's own")
	}
}

// stdinCommandTools contains the tools that take commands from their standard input.
var stdinCommandTools = names.WordSet("kubectl helm terraform tofu docker podman git gh at crontab")

// readsCommandsFromStdin reports whether a command may take commands from its standard input.
func readsCommandsFromStdin(name string) bool {
	return interprets(name) || runs(name) || stdinCommandTools(tool(name))
}

// untested reports a rule that leaves a choice to the caller and has no test.no.
func (l *linter) untested(s subject) {
	if s.freeArgs() && len(s.MustNotMatch) == 0 && s.Do != Deny {
		l.add(s.Position, s.title, false, "no test.no: write down what it must never match")
	}
}
