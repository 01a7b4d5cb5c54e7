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

// Learned is a rule for Ruleset.Approved that was learned from approved requests.
type Learned struct {
	Command string
	Rule    Rule
	Times   int // the number of approved requests that it matches
}

// Denied is a rule that was not learned, because it matches a request that a person denied.
type Denied struct {
	Learned
	Args []string // of the denied request
}

// maxLearned limits the number of different requests of one command from which rules are learned. Those with
// the most approvals count.
const maxLearned = 500

// Learn returns rules that match the requests in approved. At most one argument of a rule varies, and only if
// requests with several values of it were approved that are equal otherwise. A rule that matches a request of
// denied is not learned.
func Learn(approved []Candidate, denied [][]string) (rules []Learned, removed []Denied) {
	groups := map[string][]Candidate{}
	for _, c := range approved {
		key := strings.Join(append([]string{c.Args[0], map[bool]string{true: "confined"}[c.Confined]}, c.Effects...), "\x00")
		groups[key] = append(groups[key], c)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		for _, r := range learnGroup(groups[key]) {
			i := slices.IndexFunc(denied, func(args []string) bool { return args[0] == r.Command && r.Rule.matches(args[1:]) })
			if i >= 0 {
				removed = append(removed, Denied{r, denied[i]})
				continue
			}
			r.Rule.addTests(r.Command, denied)
			rules = append(rules, r)
		}
	}
	slices.SortStableFunc(rules, func(a, b Learned) int {
		return cmp.Or(cmp.Compare(a.Command, b.Command), cmp.Compare(b.Times, a.Times))
	})
	return rules, removed
}

// calls counts equal requests of one command.
type calls struct {
	Candidate
	times int
}

// learnGroup returns the rules for requests of one command that have the same effects and the same place.
func learnGroup(group []Candidate) (rules []Learned) {
	seen := map[string]*calls{}
	var left []*calls
	for _, c := range group {
		key := strings.Join(c.Args, "\x00")
		if seen[key] == nil {
			seen[key] = &calls{Candidate: c}
			left = append(left, seen[key])
		}
		seen[key].times++
	}
	slices.SortFunc(left, func(a, b *calls) int { return cmp.Or(cmp.Compare(b.times, a.times), slices.Compare(a.Args, b.Args)) })
	left = left[:min(len(left), maxLearned)]
	for len(left) > 0 {
		at, taken := largestVariation(left)
		if at == 0 {
			taken = left[:1]
		}
		rules = append(rules, learnedRule(taken, at))
		left = slices.DeleteFunc(slices.Clone(left), func(c *calls) bool { return slices.Contains(taken, c) })
	}
	return rules
}

// largestVariation returns the largest set of requests that differ in exactly one argument, and the argument's
// number. Of equally large sets it returns one whose last arguments differ. at is 0 if there is no such set.
func largestVariation(all []*calls) (at int, largest []*calls) {
	sets := map[string][]*calls{}
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

// learnedRule returns the rule for requests that differ in argument at, or for one request if at is 0.
func learnedRule(taken []*calls, at int) Learned {
	c := taken[0].Candidate
	l := Learned{Command: c.Args[0], Rule: Rule{Do: Allow, Effects: c.Effects}}
	var values []string
	for _, c := range taken {
		values = append(values, c.Args[at])
		l.Times += c.times
	}
	for i, a := range c.Args[1:] {
		e := Element{Kind: Word, Words: []string{a}}
		if i+1 == at {
			e = variable(values, c.Confined)
		}
		l.Rule.Argv = append(l.Rule.Argv, e)
	}
	for _, c := range taken[:min(len(taken), maxTests)] {
		l.Rule.MustMatch = append(l.Rule.MustMatch, c.Args[1:])
	}
	if l.Rule.Compile() != nil {
		l.Rule.ready = false // it denies
	}
	sum := sha256.Sum256([]byte(c.Args[0] + "\x00" + l.Rule.Shape()))
	l.Rule.ID = "learned-" + hex.EncodeToString(sum[:4])
	return l
}
