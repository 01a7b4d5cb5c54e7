// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// elements checks the patterns of a rule.
func (l *linter) elements(s subject) {
	for _, e := range s.Argv {
		switch {
		case e.Kind == KindArgs && e.Max < 0:
			l.add(s.Position, s.title, s.Do == Allow, "args without max: any number of them")
		case e.Kind == KindPath && e.Max < 0:
			l.add(s.Position, s.title, false, "path without max: any number of them")
		}
		if e.Kind == KindRegexp || e.Kind == KindArgs {
			l.pattern(s, e.Pattern)
			if fits(e.Pattern, "-") && !e.afterDashDash && !(e.Kind == KindRegexp && e.Pattern.dashed) {
				l.add(s.Position, s.title, false, "%s could match a leading -, where it never does: name options in flags or opts, or put \"--\" before", e.Pattern)
			}
		}
		for _, o := range e.Opts {
			l.pattern(s, o.Value)
		}
	}
}

func (l *linter) pattern(s subject, p ArgPattern) {
	if matchesAnyText(p.Source) {
		l.add(s.Position, s.title, s.Do == Allow, "%s matches anything: say which characters, and how many", p)
	}
}

// escapes reports patterns of a rule that match paths outside of the workspace. It checks only
// rules that allow: a rule that asks shows the path to the person.
func (l *linter) escapes(s subject) {
	if s.Do != Allow || s.Anywhere || s.Fixed != nil {
		return
	}
	for _, e := range s.Argv {
		if e.Kind == KindRegexp || e.Kind == KindArgs {
			l.escape(s, e.Pattern, e.startState(), e.afterDashDash || e.Kind == KindRegexp && e.Pattern.dashed)
		}
		for _, o := range e.Opts {
			l.escape(s, o.Value, atValue, false)
		}
	}
}

func (l *linter) escape(s subject, p ArgPattern, from scanState, option bool) {
	switch example, found := p.escape(from, option); {
	case !found:
	case example == "":
		l.add(s.Position, s.title, true, "%s is too large to be looked through for paths outside of the workspace: make it simpler, or write anywhere: true", p)
	default:
		l.add(s.Position, s.title, true, "%s matches %s, a path outside of the workspace: use {path: ws} for paths, or write anywhere: true", p, CommandLine([]string{example}))
	}
}

// parse returns the syntax tree of a pattern that compiled before.
func parse(source string) *syntax.Regexp {
	re, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return &syntax.Regexp{Op: syntax.OpNoMatch}
	}
	return re
}

// matchesAnyText reports whether source contains .* or .+.
func matchesAnyText(source string) bool {
	var walk func(re *syntax.Regexp) bool
	walk = func(re *syntax.Regexp) bool {
		switch re.Op {
		case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
			any := re.Sub[0].Op == syntax.OpAnyChar || re.Sub[0].Op == syntax.OpAnyCharNotNL
			if any && (re.Op != syntax.OpRepeat || re.Max < 0) {
				return true
			}
		}
		return slices.ContainsFunc(re.Sub, walk)
	}
	return walk(parse(source))
}

// fits reports whether p matches a text that begins with prefix. It tries a few samples only.
func fits(p ArgPattern, prefix string) bool {
	for _, rest := range []string{"", "x", "1", "-x", "-xx=1", "xxxxxxxx"} {
		if p.match(prefix + rest) {
			return true
		}
	}
	return false
}

// anchored reports whether every alternative of a pattern begins with ^ and ends with $.
func anchored(source string) bool { return bound(parse(source), true) && bound(parse(source), false) }

func bound(re *syntax.Regexp, begin bool) bool {
	switch re.Op {
	case syntax.OpBeginText:
		return begin
	case syntax.OpEndText:
		return !begin
	case syntax.OpCapture:
		return bound(re.Sub[0], begin)
	case syntax.OpConcat:
		if len(re.Sub) == 0 {
			return false
		}
		if begin {
			return bound(re.Sub[0], begin)
		}
		return bound(re.Sub[len(re.Sub)-1], begin)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !bound(sub, begin) })
	}
	return false
}

// rootLine reports whether every line that a pattern matches begins with a command that gives its
// caller root privileges.
func rootLine(source string) bool {
	re := parse(source)
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 || re.Sub[1].Op != syntax.OpLiteral {
		return false
	}
	f := strings.Fields(string(re.Sub[1].Rune))
	return len(f) > 1 && engines(f[0]) && (rootVerbs(f[1]) || len(f) > 2 && rootNested[f[1]] != nil && rootNested[f[1]](f[2]))
}

// literal returns the words with which every line that the pattern matches begins.
func literal(source string) []string {
	re := parse(source)
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 || re.Sub[0].Op != syntax.OpBeginText || re.Sub[1].Op != syntax.OpLiteral {
		return nil
	}
	text := string(re.Sub[1].Rune)
	words := strings.Fields(text)
	if len(words) > 0 && !strings.HasSuffix(text, " ") && !(len(re.Sub) == 3 && re.Sub[2].Op == syntax.OpEndText) {
		words = words[:len(words)-1] // the last word may continue
	}
	return words
}

// firstWord returns the command of all lines that a pattern matches, or "".
func firstWord(source string) string { return append(literal(source), "")[0] }

// Command returns the command of all lines that p matches, or "".
func (p LinePattern) Command() string { return firstWord(p.Source) }

// runs reports whether a line that begins with words is known to run code that the container wrote.
func (l *linter) runs(words []string) bool {
	return len(words) > 0 && l.policy.programs(words[0], l.policy.Rules[words[0]].Exec).kind(words[1:], false, true).code()
}

// lists checks the patterns of auto_approve and manual_approve.
func (l *linter) lists() {
	for _, list := range []struct {
		name string
		of   []LinePattern
		auto bool
	}{{"auto_approve", l.policy.Auto, true}, {"manual_approve", l.policy.Manual, false}} {
		for _, p := range list.of {
			title := list.name + " " + CommandLine([]string{p.Source})
			word := firstWord(p.Source)
			switch {
			case !anchored(p.Source):
				l.add(p.Position, title, list.auto, "not anchored: it matches in the middle of any line, as of sh -c '... # %s'; write ^ and $ around all of it", "git status")
			case list.auto && word != "" && interprets(word) && leavesChoice(p.Source):
				l.add(p.Position, title, true, "%s runs what its arguments say", word)
			case rootLine(p.Source):
				l.add(p.Position, title, list.auto, "root-equivalent: with this verb the caller can have any file and any privilege of the host")
			case list.auto && l.matchesOutside(p):
				example, _ := p.escape()
				l.add(p.Position, title, true, "matches %s, with a path outside of the workspace, so it asks for that: say which words may come, or write {pattern: ..., anywhere: true}", strconv.QuoteToASCII(example))
			case list.auto && l.runs(literal(p.Source)):
				l.add(p.Position, title, false, "HOST CODE EXECUTION, unasked: %s runs what stands in files", word)
			case list.auto && matchesAnyText(p.Source):
				l.add(p.Position, title, false, ".* lets any arguments through: commands.%s.rules can say which", word)
			}
			if word != "" && len(l.policy.Rules[word].Rules) > 0 {
				l.add(p.Position, title, false, "never looked at: commands.%s has rules, and those decide", word)
			}
		}
	}
}

// matchesOutside reports whether a pattern that leaves a choice matches lines with paths outside of the
// workspace.
func (l *linter) matchesOutside(p LinePattern) bool {
	if p.trusted() || l.policy.Rules[firstWord(p.Source)].Place.Confined() {
		return false
	}
	_, found := p.escape()
	return found
}

// leavesChoice reports whether a pattern leaves a choice to the caller.
func leavesChoice(source string) bool {
	var walk func(re *syntax.Regexp) bool
	walk = func(re *syntax.Regexp) bool {
		switch re.Op {
		case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpCharClass:
			return true
		}
		return slices.ContainsFunc(re.Sub, walk)
	}
	return walk(parse(source))
}

// shadows reports rules that never decide. If two rules match the same arguments, the stricter one
// decides; of equally strict rules, the first one decides.
func (l *linter) shadows(name string, set Ruleset) {
	for i := range set.Rules {
		r := &set.Rules[i]
		samples, exact := r.samples()
		if len(samples) == 0 {
			continue
		}
		other := l.decides(name, set, samples[0])
		same := func(args []string) bool { return l.decides(name, set, args) == other }
		if other == "" || other == r.Title(name) {
			continue
		}
		if !slices.ContainsFunc(samples, func(args []string) bool { return !same(args) }) {
			l.add(r.Position, r.Title(name), exact, "never decides: %s, which is as strict or stricter, matches the same", other)
		}
	}
}

// decides returns the title of the rule that decides about args, without the rest of the policy.
func (l *linter) decides(name string, set Ruleset, args []string) string {
	p := Policy{Rules: map[string]Ruleset{name: set}}
	return p.Decide(Request{Args: append([]string{name}, args...), GitDirReadOnly: true}).Rule
}

// samples returns arguments that r matches. If exact is set, these are all of them; else they are
// the arguments of r's tests.
func (r *Rule) samples() (all [][]string, exact bool) {
	var args []string
	for _, e := range r.Argv {
		switch e.Kind {
		case KindWord:
			args = append(args, e.Words[0])
		case KindInsert:
		default:
			return r.MustMatch, false
		}
	}
	if r.AnyArgs || !r.ready {
		return r.MustMatch, false
	}
	return [][]string{args}, true
}
