// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"
	"strings"
)

// Candidate is an approved request from which a rule may be learned.
type Candidate struct {
	Args     []string // Args[0] is the name of the command
	Effects  []string // that the rule has to state
	Confined bool     // the command runs in a sandbox or a container
}

// Limits of the requests from which rules are learned.
const (
	maxLearnedArgs  = 32
	maxLearnedBytes = 1 << 10
)

// Learnable returns the candidate for a request that a person has approved, or the reason why no rule may answer
// it. asks is false if the policy does not ask about the request now. effects are those of commands that are not
// known to be harmless.
func (p *Policy) Learnable(args, effects []string) (c Candidate, asks bool, why string) {
	v := p.Decide(Request{Args: args, GitDir: true})
	if v.Action != Ask {
		return c, false, ""
	}
	c = Candidate{Args: args, Effects: slices.Clone(v.Effects), Confined: v.Place.Confined()}
	if why = p.unlearnable(args, v, effects); why != "" {
		return c, true, why
	}
	if v.Grade == GradeUnknown {
		c.Effects = effects
	}
	if !p.with(args[0], literalRule(c)).allows(args) {
		return c, true, "the rule that asks has a condition that no other rule can meet"
	}
	return c, true, ""
}

// unlearnable returns the reason why no rule may allow args, about which v asks.
func (p *Policy) unlearnable(args []string, v Verdict, effects []string) string {
	name := args[0]
	switch {
	case v.unknownInput():
		return "its question is about more than its arguments: the content of files, or stdin"
	case readsStdin(args):
		return "it reads its stdin, which no question shows"
	case len(args) > maxLearnedArgs, len(Line(args)) > maxLearnedBytes, slices.ContainsFunc(args, func(a string) bool { return !ascii(a) }):
		return name + " has arguments that are too long, or not printable ASCII"
	case v.Place.Confined():
		return ""
	}
	return p.unsafe(args, v, effects)
}

// unsafe returns the reason why a command on the host must not run without a question.
func (p *Policy) unsafe(args []string, v Verdict, effects []string) string {
	name := args[0]
	if name == GitPush {
		if len(args) > 1 && !slices.Contains([]string{"fetch", "push", "tag"}, args[1]) {
			return "git-push " + args[1] + " changes or deletes what the remote has"
		}
		return ""
	}
	r := literalRule(Candidate{Args: args})
	for _, n := range p.programs(name, p.Rules[name].Exec, v.Command.Path) {
		switch {
		case interprets(n):
			return n + " runs what its arguments say"
		case (subject{Rule: &r}).controlsEngine(tool(n)):
			return "root-equivalent: with this verb of " + n + " the caller can have any file of the host"
		}
	}
	switch v.Grade {
	case GradeNone:
		return ""
	case GradeUnknown:
		if len(effects) == 0 {
			return name + " is not known to be harmless: --effects LIST says what it does"
		}
		return ""
	}
	return name + " runs code that the container may have written: where: sandbox confines it"
}

// readsStdin reports whether an argument names the standard input, as in kubectl apply -f -.
func readsStdin(args []string) bool {
	return slices.ContainsFunc(args[1:], func(a string) bool {
		return a == "-" || strings.HasSuffix(a, "=-") || strings.HasPrefix(a, "/dev/")
	})
}

// literalRule returns the rule that matches exactly the arguments of c.
func literalRule(c Candidate) Rule {
	r := Rule{ID: "learned", Do: Allow, Effects: c.Effects}
	for _, a := range c.Args[1:] {
		r.Argv = append(r.Argv, Element{Kind: Word, Words: []string{a}})
	}
	if r.Compile() != nil {
		r.ready = false // it denies
	}
	return r
}

// with returns a copy of p in which the command has the rules more in Approved.
func (p *Policy) with(command string, more ...Rule) *Policy {
	q := *p
	q.Rules = maps.Clone(p.Rules)
	if q.Rules == nil {
		q.Rules = map[string]Ruleset{}
	}
	set := q.Rules[command]
	set.Approved = slices.Concat(set.Approved, more)
	q.Rules[command] = set
	return &q
}

func (p *Policy) allows(args []string) bool {
	return p.Decide(Request{Args: args, GitDir: true}).Action == Allow
}
