// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
)

// These reasons are sent to the caller. They name rules and nothing else of the policy.
const (
	reasonBroken   = "the host's configuration is broken: docker hostexec policy check shows where"
	reasonName     = "not the name of a command"
	reasonUnknown  = "not a proxied command"
	reasonUnlisted = "not a proxied command, and no list can match it: lists match printable ASCII only, up to 64 KiB"
	reasonInside   = "shells in that container are not allowed"
	reasonTooMuch  = "too many arguments to be matched against rules"
)

// RuleBroken is the Rule of each denial that has this cause: the configuration cannot be read.
const RuleBroken = "config"

// Decide returns the verdict for req.
func (p *Policy) Decide(req Request) Verdict {
	if p.Broken != "" {
		return Verdict{Rule: RuleBroken, Reason: reasonBroken}
	}
	if len(req.Args) == 0 || !ValidName(req.Args[0]) {
		return Verdict{Reason: reasonName}
	}
	d := newDecision(p, req)
	v := d.approve(d.decide())
	v.Steps = maxSteps - d.m.stepsLeft
	return v
}

// decision holds the state of one call of Decide. It has more methods than other types, because each step of a decision
// uses that state.
type decision struct {
	*Policy
	req     Request
	c       Command // the proxied command; valid if proxied is set
	proxied bool
	set     Ruleset
	m       matcher
}

func newDecision(p *Policy, req Request) *decision {
	d := &decision{Policy: p, req: req, set: p.Rules[req.Args[0]], m: matcher{args: req.Args[1:], stepsLeft: maxSteps}}
	d.c, d.proxied = p.Lookup(req.Args[0])
	return d
}

func (d *decision) decide() Verdict {
	explicit := d.explicit()
	h := d.strictest(explicit)
	switch {
	case d.m.exhausted:
		return Verdict{Reason: reasonTooMuch, Command: d.command()}
	case h.rule != nil && h.action == Deny:
		return d.denied(h)
	case d.req.Args[0] == GitPush:
		return d.gitPush(h)
	case explicit:
		return d.byProxy()
	case len(d.set.Rules) > 0:
		return d.byRule(h)
	}
	if targetContainer(d.req.Args) == "" { // list patterns never match requests for other containers
		if v, ok := d.byList(); ok {
			return v
		}
	}
	if d.proxied {
		return d.byProxy()
	}
	return Verdict{Reason: d.unknown()}
}

// unknown returns the reason for the denial of a command that no rule, list or --proxy option
// names.
func (d *decision) unknown() string {
	if _, shown := line(d.req.Args); len(d.Auto)+len(d.Manual) > 0 && !shown {
		return reasonUnlisted
	}
	return reasonUnknown
}

// explicit reports whether the user gave an action for the command (--proxy X=ACTION).
func (d *decision) explicit() bool { return d.proxied && (d.c.Explicit || d.c.Action != Allow) }

// matchedRule is the rule that decides: the strictest rule that matches, and the first of equally strict
// rules.
type matchedRule struct {
	rule      *Rule
	action    Action
	args      []string
	paths     []PathCheck
	grade     Grade
	askReason string // why the action is Ask although the rule says allow

	nearest        *Rule // if no rule matches: the rule that matched the most arguments
	nearestMatched int
	characters     string // the argument whose characters no rule so near allows
}

// strictest matches the rules of the command. If denials is set, it matches only rules that deny.
func (d *decision) strictest(denials bool) (h matchedRule) {
	before := append([]string{d.req.Args[0]}, d.set.Prepend...)
	for i := range d.set.Rules {
		r := &d.set.Rules[i]
		if denials && r.Do != Deny || !d.appliesToContainer(r) {
			continue
		}
		if !d.m.match(r) {
			if d.m.exhausted {
				return matchedRule{}
			}
			if h.nearest == nil || d.m.furthest > h.nearestMatched {
				h.nearest, h.nearestMatched, h.characters = r, d.m.furthest, ""
			}
			if h.characters == "" && r.Do != Deny && d.m.furthest == h.nearestMatched {
				h.characters = d.m.wrongCharacters()
			}
			continue
		}
		action, grade, askReason := d.effective(r)
		if h.rule == nil || action < h.action {
			h.rule, h.action, h.grade, h.askReason = r, action, grade, askReason
			h.args, h.paths = d.m.build(r, before)
		}
	}
	return h
}

// command returns the command that a rule or a list runs. The program path of the configuration
// takes precedence over the path of --proxy.
func (d *decision) command() Command {
	c := d.c
	c.Name = d.req.Args[0]
	switch contained := d.place().InContainer(); {
	case c.Placed && (contained || d.set.Place.InContainer()): // exec is a path in another place
	case contained, d.set.Exec != "": // --proxy searched its path on the host
		c.Path = d.set.Exec
	}
	return c
}

// Title returns the name of a rule of command in verdicts: COMMAND/ID.
func (r *Rule) Title(command string) string { return command + "/" + r.ID }

func (d *decision) denied(h matchedRule) Verdict {
	v := Verdict{Rule: h.rule.Title(d.req.Args[0]), Command: d.command(), Reason: h.rule.Reason}
	if v.Reason == "" {
		v.Reason = "denied by rule " + v.Rule
	}
	return v
}

func (d *decision) byRule(h matchedRule) Verdict {
	if h.rule == nil && h.nearest == nil { // no rule names the container
		return Verdict{Command: d.command(), Reason: reasonInside}
	}
	if h.rule == nil {
		reason := fmt.Sprintf("no rule of %s allows these arguments", d.req.Args[0])
		if h.nearestMatched > 0 { // otherwise all are equally far
			reason += fmt.Sprintf(" (nearest: %s)", h.nearest.ID)
		}
		if h.characters != "" {
			reason += ": " + h.characters
		}
		return Verdict{Command: d.command(), Reason: reason}
	}
	v := Verdict{
		Action: h.action, Rule: h.rule.Title(d.req.Args[0]), Command: d.command(), Place: d.place(), Sandbox: d.set.Sandbox,
		Args: h.args, Paths: h.paths, Inputs: h.rule.Inputs, Preview: h.rule.Preview, SHA256: d.set.SHA256,
		Effects: h.rule.Effects, Grade: h.grade, AskReason: h.askReason,
	}
	h.rule.Settings.Over(d.set.Settings.Over(d.Defaults)).apply(&v, false)
	return v
}

// byList matches the command line against the lists. A command proxied with --proxy still behaves like a local command:
// a list can make the request ask, but cannot restrict its Streams.
func (d *decision) byList() (Verdict, bool) {
	if len(d.Auto)+len(d.Manual) == 0 {
		return Verdict{}, false
	}
	text, ok := line(d.req.Args)
	if !ok {
		return Verdict{}, false
	}
	for _, list := range []struct {
		name   string
		of     []LinePattern
		action Action
	}{{"auto_approve", d.Auto, Allow}, {"manual_approve", d.Manual, Ask}} {
		p, ok := d.first(list.of, text)
		if d.m.exhausted {
			return Verdict{Reason: reasonTooMuch, Command: d.command()}, true
		}
		if !ok {
			continue
		}
		action, askReason := list.action, ""
		if n := d.outsideArg(); action == Allow && n > 0 && !p.trusted() {
			if q, ok := d.first(slices.DeleteFunc(slices.Clone(list.of), func(q LinePattern) bool { return !q.trusted() }), text); ok {
				p = q
			} else {
				action, askReason = Ask, fmt.Sprintf(askOutside, n, "pattern")
			}
		}
		v := d.verdict(d.proxied)
		v.Action, v.Rule, v.Pattern, v.AskReason = action, list.name+" "+p.Source, p.Source, askReason
		return v, true
	}
	return Verdict{}, false
}

// byProxy returns the verdict of --proxy X, with or without an action. The command behaves like a
// local command.
func (d *decision) byProxy() Verdict {
	c := d.c
	rule := "--proxy " + c.Name
	if d.explicit() {
		rule += "=" + c.Action.String()
	}
	if c.Action == Deny {
		return Verdict{Rule: rule, Command: c, Reason: "denied by " + rule}
	}
	if !d.appliesToContainer(nil) {
		return Verdict{Rule: rule, Command: c, Reason: reasonInside}
	}
	v := d.verdict(true)
	v.Action, v.Rule = c.Action, rule
	return v
}

// verdict returns the verdict of a request that no rule decided. If the command has rules, its prepend and settings
// apply to those rules only. With whole, the command gets all Streams.
func (d *decision) verdict(whole bool) Verdict {
	set := d.set
	if len(set.Rules) > 0 {
		set = Ruleset{}
	}
	v := Verdict{Command: d.command(), Place: d.place(), Sandbox: d.set.Sandbox, Args: d.req.Args, SHA256: d.set.SHA256, Grade: d.grade(d.m.args)}
	if whole && d.c.Path != "" && v.Place == d.c.Place {
		v.Command.Path = d.c.Path // the SHA256 applies to this path too, because it belongs to the command
	}
	if len(set.Prepend) > 0 {
		v.Args = append(append([]string{d.req.Args[0]}, set.Prepend...), d.m.args...)
	}
	set.Settings.Over(d.Defaults).apply(&v, whole)
	v.Keep = v.Keep || d.c.Keep
	return v
}
