// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"
)

// approve returns v, or an allowing verdict if v asks and a rule of Approved matches. It never changes a denial. The
// command runs as the asking verdict says, but without a terminal and without stdin, because the person has approved
// arguments and not the input.
func (d *decision) approve(v Verdict) Verdict {
	if v.Action != Ask || d.req.MoreThanArgs || v.MoreThanArgs() {
		return v
	}
	for i := range d.set.Approved {
		r := &d.set.Approved[i]
		if !d.answers(r) || !d.m.match(r) {
			continue
		}
		action, grade, _ := d.effective(r)
		if action != Allow {
			continue
		}
		v.Action, v.Rule, v.Pattern, v.AskReason = Allow, r.Title(d.req.Args[0]), "", ""
		v.Grade = grade
		if len(r.Effects) > 0 {
			v.Effects = r.Effects
		}
		v.withoutInput()
		break
	}
	return v
}

// answers reports whether r, a rule of Approved, is for the place where the command runs.
func (d *decision) answers(r *Rule) bool { return !r.AnyArgs && (!r.Confined || d.place().Confined()) }

// MoreThanArgs reports whether a question about v shows more than its arguments. This can be the content of files,
// stdin, the output of a preview, or the state of a shell.
func (v *Verdict) MoreThanArgs() bool {
	return len(v.Paths)+len(v.Preview) > 0 || !v.Streams.Whole && v.Streams.Stdin.Mode != StdinNone || v.Command.Name == Shell
}

// withoutInput restricts v to the streams of a command that a rule allows, without its terminal and stdin.
func (v *Verdict) withoutInput() {
	output := v.Streams.Output
	if v.Streams.Whole {
		output = DefaultOutput
	}
	v.Streams = Streams{Output: output}
	set := maps.Clone(nonInteractiveEnv)
	maps.Copy(set, v.Env.Set)
	v.Env.Set = set
}

// all returns the rules of set, then those of Approved.
func (set *Ruleset) all() []Rule { return slices.Concat(set.Rules, set.Approved) }
