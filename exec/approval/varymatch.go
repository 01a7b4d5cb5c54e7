// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/inputs"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// VaryingArgument returns the argument that spec describes for q. It must fit the argument that was shown.
func (q *Question) VaryingArgument(spec string) (*VaryingArgument, error) {
	v, err := ParseVary(spec)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(q.Offers, func(o Offer) bool { return o.Argument == v.Argument })
	if i < 0 {
		return nil, varyError("there is no argument %d that can vary", v.Argument)
	}
	offer := q.Offers[i]
	switch {
	case offer.Problem != "":
		return nil, varyError("argument %d cannot vary: %s", v.Argument, offer.Problem)
	case v.Form == "" && offer.Forms[0] == policy.FormWords:
		return nil, varyError("argument %d is neither a number nor a path below the bind mount of its directory: give the words that it may be, as in %d=WORD,WORD",
			v.Argument, v.Argument)
	case v.Form == "":
		v.Form = offer.Forms[0]
	case !slices.Contains(offer.Forms, v.Form):
		return nil, varyError("argument %d cannot vary as a %s: as it was shown it is none, or names something else for this program", v.Argument, v.Form)
	}
	if v.Form == policy.FormPath {
		v.Mount = q.Mount
	}
	if !v.accepts(q.Args[v.Argument]) {
		return nil, varyError("argument %d as it was shown is not among the words of the list", v.Argument)
	}
	return &v, nil
}

// FittingForms returns the forms of an argument that fit value, the default first. below reports that value is a path
// below the mount.
func FittingForms(forms []policy.Form, value string, below bool) (fit []policy.Form) {
	for _, f := range []policy.Form{policy.FormNumber, policy.FormPath, policy.FormWords} {
		ok := slices.Contains(forms, f)
		switch f {
		case policy.FormPath:
			ok = ok && below
		case policy.FormNumber:
			ok = ok && names.IsNumber(value)
		case policy.FormWords:
			ok = ok && plain(value) && len(value) <= maxWord && !strings.Contains(value, ",")
		}
		if ok {
			fit = append(fit, f)
		}
	}
	return fit
}

// covers reports whether g approves the call of ask, whose digest is digest.
func (g *Grant) covers(ask *Question, digest string) bool {
	if g.Varying == nil {
		return g.digest == digest && g.holdsFor(ask.Inputs)
	}
	v := g.Varying
	return g.sameExcept(ask) && v.accepts(ask.Args[v.Argument]) && (v.Form != policy.FormPath || g.samePlace(ask))
}

// holdsFor reports whether g depends on no files, or the files are unchanged.
func (g *Grant) holdsFor(files *inputs.Set) bool {
	return g.Unchanged == nil || files.Digest() != "" && g.Unchanged.Digest() == files.Digest()
}

// sameExcept reports whether ask differs from the question of g in nothing but the varying argument.
func (g *Grant) sameExcept(ask *Question) bool {
	was, n := &g.Question, g.Varying.Argument
	if len(was.Args) != len(ask.Args) || n < 1 || n >= len(ask.Args) {
		return false
	}
	masked := *ask
	masked.Args = slices.Clone(ask.Args)
	masked.Args[n] = was.Args[n]
	if len(was.Called)+len(ask.Called) > 0 {
		if len(was.Notes) == 0 || len(ask.Notes) == 0 || !sameCall(was.Called, ask.Called, was.Args[n], ask.Args[n]) {
			return false
		}
		masked.Notes = slices.Clone(ask.Notes)
		masked.Notes[0] = was.Notes[0] // it shows Called
	}
	return masked.Digest() == g.digest
}

// sameCall reports whether two calls are equal, or differ in exactly one argument, which has changed from before to
// now.
func sameCall(called, calledNow []string, before, now string) bool {
	if len(called) != len(calledNow) {
		return false
	}
	differ := 0
	for i := range called {
		if called[i] != calledNow[i] {
			differ++
			if called[i] != before || calledNow[i] != now {
				return false
			}
		}
	}
	return before == now && differ == 0 || before != now && differ == 1
}

// samePlace reports whether the path of ask was found below the mount of g. If the approved path has a slash, the
// path of ask has one, too: without it, it could be the name of a subcommand.
func (g *Grant) samePlace(ask *Question) bool {
	n := g.Varying.Argument
	return ask.Mount == g.Varying.Mount && slices.Contains(ask.Paths, n) &&
		(strings.Contains(ask.Args[n], "/") || !strings.Contains(g.Question.Args[n], "/"))
}

// PathsOf returns the arguments of ask that must be paths below its mount for a grant to cover it. The caller
// checks them, because the queue opens no files under its lock.
func (q *Queue) PathsOf(ask Question) (paths []int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.grants.list {
		g := &q.grants.list[i]
		if g.Varying == nil || g.Varying.Form != policy.FormPath || slices.Contains(paths, g.Varying.Argument) {
			continue
		}
		if g.sameExcept(&ask) && g.Varying.accepts(ask.Args[g.Varying.Argument]) {
			paths = append(paths, g.Varying.Argument)
		}
	}
	return paths
}

// granted uses a grant that covers ask. A recent denial of exactly this question is stronger than a grant that only
// varies to it. The caller holds mu.
func (q *Queue) granted(ask *Question, digest string, now time.Time) (Grant, bool, error) {
	if _, ok := q.sessionDenials.of(digest); ok {
		return Grant{}, false, nil
	}
	denied := q.recentDenials[digest].until.After(now)
	return q.grants.use(func(g *Grant) bool { return g.covers(ask, digest) && !(denied && g.Varying != nil) }, now)
}

// settleCovered approves the connected callers of other questions that a new grant with a varying argument covers. The
// caller holds mu.
func (q *Queue) settleCovered(now time.Time) {
	for _, e := range slices.Clone(q.questions) {
		for _, w := range slices.Clone(e.waiters) {
			if w.disconnected {
				continue
			}
			g, ok, err := q.granted(&e.Question, e.digest, now)
			if !ok || err != nil {
				break
			}
			q.settle(e, []string{w.request}, Answer{Outcome: Approved, By: g.By(), Inputs: g.Unchanged.Digest()})
		}
	}
}
