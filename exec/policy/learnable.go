// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Candidate is a call that a person has approved, from which a rule may be learned.
type Candidate struct {
	Args     []string // Args[0] is the name of the command
	Effects  []string // that the rule has to state
	Confined bool     // the command runs in a sandbox or a container
	Times    int      // how often it was approved

	forms [][]Form // in which each argument may vary
}

// Limits of the calls from which rules are learned.
const (
	maxLearnedArgs  = 32
	maxLearnedBytes = 1 << 10
)

// Learnable returns the candidate for a call that a person has approved, or the reason why no rule may answer it. asks
// is false if p does not ask about the call. effects are the declared effects of a command that is not known to be
// harmless.
func (p *Policy) Learnable(args, effects []string) (c Candidate, asks bool, why string) {
	v := p.Decide(Request{Args: args, GitDirReadOnly: true})
	if v.Action != Ask {
		return c, false, ""
	}
	c = Candidate{Args: args, Effects: slices.Clone(v.Effects), Confined: v.Place.Confined(), forms: p.formsOf(args, v)}
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

// formsOf returns the forms in which each of args may vary. There are none if the host changes the arguments.
func (p *Policy) formsOf(args []string, v Verdict) [][]Form {
	forms := make([][]Form, len(args))
	before := len(v.Args) - len(args)
	if before < 0 || !slices.Equal(v.Args[before+1:], args[1:]) {
		return forms
	}
	for i := 1; i < len(args); i++ {
		forms[i], _ = p.VaryForms(v, before+i) // on error there are none
	}
	return forms
}

// unlearnable returns the reason why no rule may allow args, about which v asks.
func (p *Policy) unlearnable(args []string, v Verdict, effects []string) string {
	name := args[0]
	programs := p.programs(name, p.Rules[name].Exec, v.Command.Path)
	i := slices.IndexFunc(programs, interprets)
	switch {
	case i >= 0 && name != GitPush:
		return programs[i] + " runs what its arguments say"
	case v.MoreThanArgs():
		return "its question is about more than its arguments"
	case readsStdin(args):
		return "it reads its stdin, which no question shows"
	case !plainCall(args):
		return "its arguments are too long, or not printable ASCII"
	case v.Place.Confined():
		return ""
	case name == GitPush:
		return unsafeGitPush(args)
	}
	return unsafeOnHost(args, v, effects, programs)
}

// plainCall reports whether args can become a rule or a test: a person can read them.
func plainCall(args []string) bool {
	return len(args) <= maxLearnedArgs && len(CommandLine(args)) <= maxLearnedBytes && !slices.ContainsFunc(args, func(a string) bool { return !ascii(a) })
}

// unsafeGitPush returns the reason why a request of GitPush must not run without a question.
func unsafeGitPush(args []string) string {
	if len(args) > 1 && !slices.Contains([]string{"fetch", "push", "tag"}, args[1]) {
		return "git-push " + args[1] + " changes or deletes what the remote has, or adds a remote"
	}
	return ""
}

// unsafeOnHost returns the reason why a command on the host must not run without a question.
func unsafeOnHost(args []string, v Verdict, effects []string, programs programNames) string {
	r := literalRule(Candidate{Args: args})
	for _, n := range programs {
		if (subject{Rule: &r}).controlsEngine(tool(n)) {
			return "root-equivalent: with this verb of " + n + " the caller can have any file of the host"
		}
	}
	if slices.ContainsFunc(args[1:], mayName) {
		const link = ", and the container may put a link to another file of this host there: where: sandbox confines it"
		switch {
		case slices.ContainsFunc(programs, readers):
			return "it reads files" + link
		case slices.ContainsFunc(programs, plainCommands):
			return "it changes files" + link
		}
	}
	switch v.Grade {
	case GradeNone:
		return ""
	case GradeUnknown:
		if len(effects) == 0 {
			return "it is not known to be harmless: --effects LIST says what it does"
		}
		return ""
	}
	return "it runs code that the container may have written: where: sandbox confines it"
}

// mayName reports whether an argument may name a file, by itself or as the value of an option.
func mayName(arg string) bool {
	name, value, _ := strings.Cut(arg, "=")
	return !strings.HasPrefix(name, "-") && !names.IsNumber(arg) || value != "" && !names.IsNumber(value)
}

// readsStdin reports whether an argument names the standard input, as in kubectl apply -f -.
func readsStdin(args []string) bool {
	return slices.ContainsFunc(args[1:], func(a string) bool {
		return a == "-" || strings.HasSuffix(a, "=-") || strings.HasPrefix(a, "/dev/")
	})
}

// literalRule returns the rule that matches exactly the arguments of c.
func literalRule(c Candidate) Rule {
	r := Rule{ID: "learned", Do: Allow, Effects: c.Effects, Confined: c.Confined}
	for _, a := range c.Args[1:] {
		r.Argv = append(r.Argv, Element{Kind: KindWord, Words: []string{a}})
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
	return p.Decide(Request{Args: args, GitDirReadOnly: true}).Action == Allow
}
