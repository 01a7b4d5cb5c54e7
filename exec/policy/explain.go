// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// RuleResult is the outcome of one rule, list entry or proxied command in a decision.
type RuleResult struct {
	Name     string // the rule, the pattern, or --proxy X
	Position string // file:line; empty if it is not from a file
	Action   Action // of the verdict, if this result decides
	Matched  bool
	Decides  bool
	Why      string // why it did not match, did not decide, or is stricter than it says; or the configuration's error
}

// Explain returns the verdict of Decide, and the result of each rule, list entry and proxied command, including those
// without effect.
func (p *Policy) Explain(req Request) (Verdict, []RuleResult) {
	v := p.Decide(req)
	if p.Broken != "" {
		return v, []RuleResult{{Name: "config", Matched: true, Decides: true, Why: p.Broken}}
	}
	if len(req.Args) == 0 || !ValidName(req.Args[0]) {
		return v, nil
	}
	d := newDecision(p, req)
	results := d.tryRules()
	results = append(results, d.tryLists(d.Auto, "auto_approve", Allow)...)
	results = append(results, d.tryLists(d.Manual, "manual_approve", Ask)...)
	results = append(results, d.tryProxy()...)
	for i := range results {
		result := &results[i]
		result.Decides = result.Matched && result.Name == v.Rule
		if result.Decides && result.Action != v.Action {
			result.Action, result.Why = v.Action, cmp.Or(v.AskReason, v.Reason, GitPush+" asks for this operation")
		}
		if result.Matched && !result.Decides {
			result.Why = d.overruled(v)
		}
	}
	return v, results
}

// overruled returns the reason why a rule, list entry or proxied command that matched did not decide.
func (d *decision) overruled(v Verdict) string {
	switch {
	case v.Rule != "":
		return fmt.Sprintf("matches, but %s decides: %s", v.Rule, v.Action)
	case v.Known() && len(d.set.Rules) > 0:
		return fmt.Sprintf("matches, but %s has rules, and none of them allows this", d.req.Args[0])
	}
	return "matches, but " + v.Reason
}

func (d *decision) tryRules() (results []RuleResult) {
	for i, r := range d.set.all() {
		approved := i >= len(d.set.Rules)
		result := RuleResult{Name: r.Title(d.req.Args[0]), Position: r.Position, Action: r.Do}
		switch {
		case !approved && !d.appliesToContainer(&r):
			result.Why = "it does not name the container"
		case approved && !d.answers(&r):
			result.Why = "it is for commands in a sandbox or a container"
		case d.m.match(&r):
			result.Matched = true
			result.Action, _, result.Why = d.effective(&r)
		default:
			result.Why = d.m.why()
		}
		d.m.stepsLeft, d.m.exhausted = maxSteps, false
		results = append(results, result)
	}
	return results
}

func (d *decision) tryLists(list []LinePattern, name string, action Action) (results []RuleResult) {
	text, shown := line(d.req.Args)
	for _, p := range list {
		result := RuleResult{Name: name + " " + p.Source, Position: p.Position, Action: action}
		switch {
		case targetContainer(d.req.Args) != "":
			result.Why = "lists are not about shells in containers"
		case !shown:
			result.Why = "lists match printable ASCII only, up to 64 KiB"
		case p.re == nil || !p.re.MatchString(text):
			result.Why = "does not match the line"
		default:
			result.Matched = true
		}
		results = append(results, result)
	}
	return results
}

func (d *decision) tryProxy() []RuleResult {
	if !d.proxied {
		return nil
	}
	name := "--proxy " + d.c.Name
	if d.explicit() {
		name += "=" + d.c.Action.String()
	}
	return []RuleResult{{Name: name, Position: d.c.Position, Action: d.c.Action, Matched: true}}
}

// why returns the reason why the last match failed: the furthest argument and the elements expected
// there.
func (m *matcher) why() string {
	if m.exhausted {
		return reasonTooMuch
	}
	var want []string
	slices.Sort(m.failedElements)
	for _, i := range m.failedElements {
		if i == len(m.argv) {
			want = append(want, "the end")
		} else {
			want = append(want, m.argv[i].String())
		}
	}
	wanted := strings.Join(want, ", or ")
	if m.furthest == len(m.args) {
		return fmt.Sprintf("the arguments end where %s is wanted", wanted)
	}
	why := fmt.Sprintf("argument %d, %s, is not %s", m.furthest+1, CommandLine([]string{names.Shorten(m.args[m.furthest], 200)}), wanted)
	if characters := m.wrongCharacters(); characters != "" {
		why += "; " + characters
	}
	return why
}

// String describes e in words.
func (e Element) String() string {
	switch e.Kind {
	case KindWord, KindAny:
		return CommandLine(e.Words[:1]) + more(e.Words)
	case KindRegexp:
		return "one that matches " + e.Pattern.String()
	case KindArgs:
		return e.count() + " matching " + e.Pattern.String()
	case KindPath:
		return e.count() + " that is a path below a mount"
	case KindInsert:
		return "nothing"
	}
	var names []string
	names = append(names, e.Flags...)
	for _, o := range e.Opts {
		names = append(names, o.Name+" "+o.Value.String())
	}
	return "an option of " + strings.Join(names, " ")
}

func more(words []string) string {
	var b strings.Builder
	for _, w := range words[1:] {
		b.WriteString(" or " + CommandLine([]string{w}))
	}
	return b.String()
}

func (e Element) count() string {
	most := "any number"
	if e.Max >= 0 {
		most = strconv.Itoa(e.Max)
	}
	if e.Max == e.Min {
		return most
	}
	return fmt.Sprintf("%d to %s", e.Min, most)
}

// String returns the pattern of p, quoted.
func (p ArgPattern) String() string { return strconv.QuoteToASCII(p.Source) }
