// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"
)

// approve returns v, or an allowing verdict if v asks and a rule of Approved matches. It has the effect of a
// grant: it never overrides a denial. The command runs as the asking verdict says, but without a terminal and
// without stdin, because the person has approved arguments and not the input.
func (d *decision) approve(v Verdict) Verdict {
	if v.Action != Ask || d.req.MoreThanArgs || v.unknownInput() {
		return v
	}
	before := append([]string{d.req.Args[0]}, d.set.Prepend...)
	for i := range d.set.Approved {
		r := &d.set.Approved[i]
		if !d.m.match(r) {
			continue
		}
		action, grade, _ := d.effective(r)
		args, paths := d.m.build(r, before)
		// The checks of paths count positions in args. Outside of a sandbox or a container, a link could replace
		// a path after its check.
		if action != Allow || len(paths) > 0 && !(d.place().Confined() && slices.Equal(args, v.Args)) {
			continue
		}
		v.Action, v.Rule, v.Pattern, v.AskReason = Allow, r.Title(d.req.Args[0]), "", ""
		v.Grade, v.Paths = grade, paths
		if len(r.Effects) > 0 {
			v.Effects = r.Effects
		}
		v.withoutInput()
		break
	}
	return v
}

// unknownInput reports whether a question about v is about more than its arguments: the content of files, stdin,
// or the state of a shell.
func (v *Verdict) unknownInput() bool {
	return len(v.Paths) > 0 || !v.Profile.Whole && v.Profile.Stdin.Mode != StdinNone || v.Command.Name == Shell
}

// withoutInput restricts v to the streams of a command that a rule allows, without its terminal and stdin.
func (v *Verdict) withoutInput() {
	output := v.Profile.Output
	if v.Profile.Whole {
		output = DefaultOutput
	}
	v.Profile = Profile{Output: output}
	set := maps.Clone(nonInteractiveEnv)
	maps.Copy(set, v.Env.Set)
	v.Env.Set = set
}

// all returns the rules of s, then those of Approved.
func (s *Ruleset) all() []Rule { return slices.Concat(s.Rules, s.Approved) }
