// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// CallShapes are the arguments of a command, grouped by action, as Rule.Shape shows them, without the arguments that
// the host adds or runs instead.
type CallShapes struct {
	Allowed, Asked, Denied []string
}

const (
	AnyArguments = "(anything)"     // the shape of a command whose arguments no rule limits
	NoArguments  = "(no arguments)" // the shape of a command without arguments
)

// CallShapes returns the shapes of calls of the command called name. A rule that allows, but would ask because the
// command may run code of the container, is among those that ask. Patterns of the two lists are not included.
func (p *Policy) CallShapes(name string) CallShapes {
	f := CallShapes{[]string{}, []string{}, []string{}}
	if p.Broken != "" {
		f.add(Deny, AnyArguments)
		return f
	}
	d := newDecision(p, Request{Args: []string{name}, GitDirReadOnly: true})
	explicit := d.explicit()
	for i := range d.set.Rules {
		r := &d.set.Rules[i]
		if explicit && r.Do != Deny {
			continue
		}
		f.add(d.usual(r), r.callShape())
	}
	for i := range d.set.Approved {
		r := &d.set.Approved[i]
		samples, _ := r.samples()
		if slices.ContainsFunc(samples, func(args []string) bool { return p.allows(append([]string{name}, args...)) }) {
			f.add(Allow, r.callShape())
		}
	}
	switch {
	case name == GitPush && d.proxied && d.c.Action != Deny:
		d.addGitPush(&f)
	case d.proxied && (explicit || len(d.set.Rules) == 0):
		f.add(d.c.Action, AnyArguments)
	}
	return f
}

// addGitPush adds the operations of GitPush that need no rule.
func (d *decision) addGitPush(f *CallShapes) {
	for _, o := range []struct{ name, args string }{{"fetch", "REMOTE"}, {"push", "REMOTE BRANCH"}, {"remote", "REMOTE URL"}} {
		action := min(d.c.Action, gitPushActions[o.name])
		if o.name == "push" && d.explicit() {
			action = d.c.Action
		}
		f.add(action, o.name+" "+o.args)
	}
}

func (f *CallShapes) add(a Action, shape string) {
	into := map[Action]*[]string{Allow: &f.Allowed, Ask: &f.Asked, Deny: &f.Denied}[a]
	if !slices.Contains(*into, shape) {
		*into = append(*into, shape)
	}
}

// usual returns the action of r for the words that its arguments begin with. A path outside of the workspace may ask
// where this allows.
func (d *decision) usual(r *Rule) Action {
	if r.Do != Allow || r.Accept || d.place().Confined() {
		return r.Do
	}
	lists := [][]string{r.Fixed}
	if r.Fixed == nil {
		lists = r.verbs()
	}
	for _, args := range lists {
		kind := d.names().kind(args, r.Fixed != nil, d.gitDir())
		if kind.code() || slices.Contains(r.Effects, "code") || kind == unknown && len(r.Effects) == 0 {
			return Ask
		}
	}
	return Allow
}

// callShape is Shape for the caller: without the arguments that the host adds or runs instead.
func (r *Rule) callShape() string {
	call := Rule{AnyArgs: r.AnyArgs}
	for _, e := range r.Argv {
		if e.Kind != KindInsert {
			call.Argv = append(call.Argv, e)
		}
	}
	return call.Shape()
}

const (
	maxNearest     = 200 // bytes of a shape that a refusal names; a part of a shape could mislead
	maxNearestTied = 2   // equally near shapes that a refusal names; if there are more, it names none
)

// Nearest returns the shape of the rule that matches the most leading arguments of req, which no rule matches. Rules
// that deny do not count. If no rule matches the first argument, and there are more than maxNearestTied rules, Nearest
// takes those whose first word the caller may have mistyped. asked reports that a person is asked about such calls. The
// shape is the command's name and one of CallShapes. Up to maxNearestTied shapes that are equally near are joined;
// Nearest returns "" if there are more, or if the text is long.
func (p *Policy) Nearest(req Request) (shape string, asked bool) {
	if p.Broken != "" || len(req.Args) < 2 || !ValidName(req.Args[0]) || req.Args[0] == Shell || req.Args[0] == GitPush {
		return "", false
	}
	d := newDecision(p, req)
	if d.explicit() {
		return "", false
	}
	var near []*Rule
	furthest := 0
	for i := range d.set.Rules {
		r := &d.set.Rules[i]
		switch matched := d.m.match(r); {
		case matched, d.m.exhausted:
			return "", false
		case r.Do == Deny || r.AnyArgs || d.m.furthest < furthest:
		case d.m.furthest > furthest:
			furthest, near = d.m.furthest, []*Rule{r}
		default:
			near = append(near, r)
		}
	}
	near = slices.DeleteFunc(near, func(r *Rule) bool { return d.overruledByDenial(r) })
	if furthest == 0 && len(near) > maxNearestTied {
		near = d.withoutTypingError(near)
	}
	return d.joinShapes(near)
}

// withoutTypingError returns those rules whose first word a person may have meant by the first argument.
func (d *decision) withoutTypingError(all []*Rule) []*Rule {
	var words []string
	for _, r := range all {
		words = append(words, r.firstWords()...)
	}
	meant := names.Near(d.req.Args[1], words)
	return slices.DeleteFunc(slices.Clone(all), func(r *Rule) bool { return !slices.Contains(r.firstWords(), meant) })
}

// firstWords returns the words that r's arguments may begin with, as far as r spells them out.
func (r *Rule) firstWords() (words []string) {
	for _, args := range r.verbs() {
		if len(args) > 0 {
			words = append(words, args[0])
		}
	}
	return words
}

// overruledByDenial reports whether a rule that denies matches each known sample of r.
func (d *decision) overruledByDenial(r *Rule) bool {
	samples, _ := r.samples()
	return len(samples) > 0 && !slices.ContainsFunc(samples, func(args []string) bool {
		return d.Decide(Request{Args: append([]string{d.req.Args[0]}, args...), GitDirReadOnly: true}).Action != Deny
	})
}

// joinShapes returns the shapes of equally near rules as one text.
func (d *decision) joinShapes(near []*Rule) (shape string, asked bool) {
	var shapes []string
	for _, r := range near {
		asked = asked || d.usual(r) == Ask
		shapes = append(shapes, strings.TrimSuffix(d.req.Args[0]+" "+r.callShape(), " "+NoArguments))
	}
	shape = strings.Join(slices.Compact(shapes), ", or ")
	if len(shapes) > maxNearestTied || len(shape) > maxNearest {
		return "", false
	}
	return shape, asked
}
