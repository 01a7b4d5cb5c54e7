// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/spelling"
)

// Lint says what of a policy does not do what it seems to, or does more. Fatal is what
// gives a container more than a rule of arguments can take back.
func (p *Policy) Lint() []Problem {
	l := linter{policy: p}
	for _, name := range p.names() {
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
	l.problems = append(l.problems, Problem{Where: where, Rule: rule, Text: fmt.Sprintf(format, args...), Fatal: fatal})
}

// subject is the rule that is being looked at.
type subject struct {
	*Rule
	title string
	names programs // the command's, and its program's
	set   *Ruleset
}

func (l *linter) command(name string, set Ruleset) {
	// What could not be read has been complained of already.
	set.Rules = slices.DeleteFunc(slices.Clone(set.Rules), func(r Rule) bool { return !r.ready })
	names := l.policy.programs(name, set.Exec)
	if slices.ContainsFunc(names, func(n string) bool { return tool(n) == "git" }) && !set.Place.Contained() {
		l.git(name, set)
	}
	if len(set.Rules) == 0 && (set.Settings.Stdin != nil || set.Settings.TTY != nil || set.Settings.Output != nil) {
		l.add(set.Where, name, false, "stdin, tty and output say nothing about a command that is proxied as a whole: write rules")
	}
	for i := range set.Rules {
		r := &set.Rules[i]
		s := subject{r, r.Title(name), names, &set}
		if !set.Place.Contained() {
			l.dangers(s)
		}
		l.elements(s)
		l.paths(s)
		if !set.Place.Contained() {
			l.escapes(s)
		}
		l.settings(s)
		l.untested(s)
	}
	l.shadows(name, set)
}

// git reads programs from the repository that it finds, unless that is the host's.
func (l *linter) git(name string, set Ruleset) {
	env := value(set.Settings.Env)
	named := env.Set["GIT_DIR"] != "" || slices.ContainsFunc(set.Prepend, func(s string) bool { return strings.HasPrefix(s, "--git-dir=") })
	switch {
	case set.GitDir == GitHost && !named:
		l.add(set.Where, name, true, "gitdir: host, but neither prepend has --git-dir=DIR nor env.set GIT_DIR: git would read the container's")
	case set.GitDir == "" && len(set.Rules) > 0:
		l.add(set.Where, name, slices.ContainsFunc(set.Rules, func(r Rule) bool { return r.Do == Allow && !r.Accept }),
			"git runs what .git/config says: without gitdir: ro-mount (or host) every rule may run code of the container, and allow asks")
	}
}

// dangers are commands that no rule about arguments makes safe.
func (l *linter) dangers(s subject) {
	allow := s.Do == Allow
	for _, n := range s.names {
		switch {
		case Interprets(n) && s.free() && s.Do != Deny:
			l.add(s.Where, s.title, allow, "%s runs what its arguments say: name them all (words, any), or use fixed", n)
			return
		case s.Do != Deny && s.rootly(tool(n)):
			l.add(s.Where, s.title, allow, "root-equivalent: with this verb of %s the caller can have any file and any privilege of the host", n)
			return
		}
	}
	if !allow || s.Accept {
		return
	}
	known := s.known()
	switch {
	case known.code():
		l.add(s.Where, s.title, true, "%s runs code that the container may have written, so allow asks: write accept: %s to allow it", s.names, CodeAccepted)
	case s.says("code"):
		l.add(s.Where, s.title, true, "effects has code, so allow asks: write accept: %s to allow it", CodeAccepted)
	case known == unknown && len(s.Effects) == 0:
		l.add(s.Where, s.title, true, "effects is missing, and %s is not known to be harmless, so allow asks: write effects: with those of read, write, network and code that it has", s.names)
	}
}

// known is the worst that is known of the command with any arguments that the rule matches.
// Git is looked at apart.
func (s subject) known() knowledge {
	lists := [][]string{s.Fixed}
	if s.Fixed == nil {
		lists = s.verbs()
	}
	worst := harmless
	for _, args := range lists {
		worst = max(worst, s.names.known(args, s.Fixed != nil, true))
	}
	return worst
}

// verbs are the arguments that the rule begins with, as far as it spells them out, at most
// two of them.
func (r *Rule) verbs() [][]string {
	all := [][]string{nil}
	for _, e := range r.Argv {
		if e.Kind == Insert {
			continue
		}
		if e.Kind != Word && e.Kind != Any || len(all[0]) == 2 {
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

// free reports whether the caller chooses arguments that are not written in the rule.
func (r *Rule) free() bool {
	if r.Fixed != nil {
		return false
	}
	return slices.ContainsFunc(r.Argv, func(e Element) bool {
		return e.Kind == Re || e.Kind == Args || e.Kind == Path || len(e.Opts) > 0
	})
}

var (
	engines    = spelling.Words("docker podman nerdctl")
	rootVerbs  = spelling.Words("run create exec build buildx cp plugin context commit")
	rootNested = map[string]func(string) bool{
		"compose":   spelling.Words("up run exec build create"),
		"container": rootVerbs, "image": rootVerbs, "builder": rootVerbs,
	}
	rootOpts = spelling.Words("-H --host -c --context --config")
)

// rootly reports whether the caller chooses what an engine of containers does for it. A rule
// that inserts what is to be done, or fixes it, has chosen itself.
func (s subject) rootly(name string) bool {
	if !engines(name) || s.Fixed != nil {
		return false
	}
	var verbs []Element
	for _, e := range s.Argv {
		if e.Kind == Options && (slices.ContainsFunc(e.Flags, rootOpts) || slices.ContainsFunc(e.Opts, func(o Opt) bool { return rootOpts(o.Name) })) {
			return true
		}
		if e.Kind == Insert {
			return false
		}
		if e.Kind == Word || e.Kind == Any {
			verbs = append(verbs, e)
		}
	}
	if len(verbs) == 0 {
		return s.free()
	}
	if slices.ContainsFunc(verbs[0].Words, rootVerbs) {
		return true
	}
	return len(verbs) > 1 && slices.ContainsFunc(verbs[0].Words, func(v string) bool {
		return rootNested[v] != nil && slices.ContainsFunc(verbs[1].Words, rootNested[v])
	})
}

// settings are those that open more than the rule's arguments say.
func (l *linter) settings(s subject) {
	set := s.Settings.Over(s.set.Settings.Over(l.policy.Defaults))
	if value(set.Stdin).Mode == StdinPipe && s.Do == Allow && slices.ContainsFunc(s.names, readsOrders) {
		l.add(s.Where, s.title, true, "stdin: pipe lets the caller say what runs: capture(64KiB) and do: ask show it first")
	}
	env := value(set.Env).Set
	if value(set.TTY) && s.Do != Deny && env["PAGER"] != "cat" && slices.ContainsFunc(s.names, func(n string) bool { return pagers(n) || pagers(tool(n)) }) {
		l.add(s.Where, s.title, s.Do == Allow, "on a terminal it may start a pager, which starts a shell: leave tty out, or set PAGER: cat and the tool's own")
	}
}

// ordered are tools that do what their standard input says.
var ordered = spelling.Words("kubectl helm terraform tofu docker podman git gh at crontab")

// readsOrders reports whether what a command does can stand in its standard input.
func readsOrders(name string) bool {
	return Interprets(name) || runs(name) || ordered(tool(name))
}

// untested says where a rule that leaves a choice says nowhere what it must not match.
func (l *linter) untested(s subject) {
	if s.free() && len(s.No) == 0 && s.Do != Deny {
		l.add(s.Where, s.title, false, "no test.no: write down what it must never match")
	}
}
