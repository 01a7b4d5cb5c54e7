// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Learned is a rule for Ruleset.Approved that was learned from approved calls.
type Learned struct {
	Command string
	Rule    Rule
	Times   int // the number of approvals of calls that it matches
}

// maxLearned limits the number of different calls of one command from which rules are learned. Those with the most
// approvals count.
const maxLearned = 500

// Denials are the calls that a person has denied. No rule that matches one of them is learned.
type Denials struct {
	Calls   [][]string
	Unknown bool // there are more, of unknown arguments: rules then match approved calls only
}

// Learn returns rules that match the calls in approved. At most one argument of a rule varies, and only if calls with
// several values of it were approved that are equal otherwise. The result does not depend on the order of approved.
func Learn(approved []Candidate, denied Denials) (rules []Learned) {
	groups := map[string][]Candidate{}
	for _, c := range approved {
		if denied.has(c.Args) {
			continue
		}
		key := strings.Join(append([]string{c.Args[0], map[bool]string{true: "confined"}[c.Confined]}, c.Effects...), "\x00")
		groups[key] = append(groups[key], c)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		rules = append(rules, learnGroup(groups[key], denied)...)
	}
	slices.SortStableFunc(rules, func(a, b Learned) int {
		return cmp.Or(cmp.Compare(a.Command, b.Command), cmp.Compare(b.Times, a.Times))
	})
	return rules
}

func (d Denials) has(args []string) bool {
	return slices.ContainsFunc(d.Calls, func(call []string) bool { return slices.Equal(call, args) })
}

// matchedBy reports whether r, a rule of command, matches a denied call, or could.
func (d Denials) matchedBy(command string, r *Rule) bool {
	return d.Unknown || slices.ContainsFunc(d.Calls, func(call []string) bool { return call[0] == command && r.matches(call[1:]) })
}

// learnGroup returns the rules for calls of one command that have the same effects and the same place.
func learnGroup(group []Candidate, denied Denials) (rules []Learned) {
	left := unique(group)
	slices.SortFunc(left, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), slices.Compare(a.Args, b.Args))
	})
	left = left[:min(len(left), maxLearned)]
	for len(left) > 0 {
		at, taken := largestVariation(left)
		if at == 0 {
			break
		}
		l := learnedRule(taken, at, denied)
		rules = append(rules, l)
		left = slices.DeleteFunc(slices.Clone(left), func(c *Candidate) bool { return l.Rule.matches(c.Args[1:]) })
	}
	for _, c := range left {
		rules = append(rules, learnedRule([]*Candidate{c}, 0, denied))
	}
	return rules
}

// unique returns one candidate for all calls that are equal.
func unique(group []Candidate) (all []*Candidate) {
	seen := map[string]*Candidate{}
	for _, c := range group {
		key := strings.Join(c.Args, "\x00")
		if seen[key] == nil {
			seen[key] = &c
			all = append(all, seen[key])
			continue
		}
		seen[key].Times += c.Times
	}
	return all
}

// largestVariation returns the largest set of calls that differ in exactly one argument, and the argument's number. Of
// equally large sets it returns one whose last arguments differ. at is 0 if there is no such set.
func largestVariation(all []*Candidate) (at int, largest []*Candidate) {
	sets := map[string][]*Candidate{}
	for _, c := range all {
		for i := 1; i < len(c.Args); i++ {
			if strings.HasPrefix(c.Args[i], "-") || c.Args[i] == "" { // the names of options do not vary
				continue
			}
			others := slices.Concat(c.Args[:i], c.Args[i+1:])
			key := fmt.Sprint(i, " ", len(others), " ", strings.Join(others, "\x00"))
			set := append(sets[key], c)
			sets[key] = set
			if n := len(set); n >= 2 && (n > len(largest) || n == len(largest) && i > at) {
				at, largest = i, set
			}
		}
	}
	return at, largest
}

// learnedRule returns the rule for some of calls that differ in argument at, or for one call if at is 0.
func learnedRule(calls []*Candidate, at int, denied Denials) Learned {
	command := calls[0].Args[0]
	var r Rule
	general := false
	if e, ok := generalized(calls, at); ok {
		r = ruleWith(calls[0], at, e)
		general = r.ready && !denied.matchedBy(command, &r)
	}
	if !general {
		calls = calls[:min(len(calls), maxListed)]
		r = ruleWith(calls[0], at, listed(calls, at))
	}
	l := Learned{Command: command, Rule: r}
	for i, c := range calls {
		l.Times += c.Times
		if i < maxTests {
			l.Rule.MustMatch = append(l.Rule.MustMatch, c.Args[1:])
		}
	}
	l.Rule.refuse(command, denied)
	sum := sha256.Sum256([]byte(command + "\x00" + strings.Join(r.Effects, ",") + "\x00" + r.Shape()))
	l.Rule.ID = "learned-" + hex.EncodeToString(sum[:4])
	return l
}

// ruleWith returns the rule that matches the arguments of c, with e in place of argument at, unless at is 0.
func ruleWith(c *Candidate, at int, e Element) Rule {
	r := literalRule(*c)
	if at > 0 {
		r.Argv[at-1] = e
	}
	if r.Compile() != nil {
		r.ready = false // it denies
	}
	return r
}
