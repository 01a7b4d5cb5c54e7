// SPDX-License-Identifier: Apache-2.0

package call

import (
	"path"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// A grant with a varying argument covers a path only if it is found below the bind mount. As for rules, there must be
// no link on the way. The check precedes the command. As with rules whose paths are not copied, the container may
// replace the file before the command opens it.

// setMount sets the facts about q that a grant with a varying argument compares.
func (dc *decidedCall) setMount(q *approval.Question, req *request) {
	if !slices.Equal(dc.v.Args, req.Args) {
		q.Called = req.Args
	}
	if dc.config.Dirs == nil || req.git != nil {
		return
	}
	if target, source, ok := dc.config.Dirs.BindMount(req.Cwd); ok {
		q.Mount = approval.BindMount{Target: target, Source: source}
	}
}

// findPaths adds to q.Paths those of its arguments that are paths below its mount.
func (dc *decidedCall) findPaths(q *approval.Question, arguments []int) {
	for _, n := range arguments {
		if dc.below(q, q.Args[n]) && !slices.Contains(q.Paths, n) {
			q.Paths = append(q.Paths, n)
		}
	}
}

// below reports whether arg names a file or directory below the mount of q, for the caller and for the program.
func (dc *decidedCall) below(q *approval.Question, arg string) bool {
	at := arg
	if !path.IsAbs(at) {
		at = path.Join(q.Cwd, at)
	}
	if q.Mount == (approval.BindMount{}) || !approval.PlainPath(arg) || !names.Within(at, q.Mount.Target) {
		return false
	}
	f, err := dc.config.operand(q.Cwd, arg, policy.TypeAny)
	if err != nil {
		return false
	}
	defer f.Close()
	return q.Mount.Holds(f.Path()) && (dc.v.Place.InContainer() || onHost(dc.cwd.Path(), arg, f.Path()) == arg)
}

// offers sets which arguments of q may vary, for a person who answers.
func (dc *decidedCall) offers(q *approval.Question) {
	for n := 1; n < len(q.Args) && n <= policy.MaxVarying; n++ {
		o := approval.Offer{Argument: n}
		forms, err := dc.config.Policy.VaryForms(dc.v, n)
		switch {
		case err != nil:
			o.Problem = err.Error()
		case q.Called != nil && (count(q.Called[1:], q.Args[n]) != 1 || count(q.Args[1:], q.Args[n]) != 1):
			o.Problem = "it is not one argument of the caller: the host chose or changed it, or it is there twice"
		default:
			if slices.Contains(forms, policy.FormPath) {
				dc.findPaths(q, []int{n})
			}
			if o.Forms = approval.FittingForms(forms, q.Args[n], slices.Contains(q.Paths, n)); len(o.Forms) == 0 {
				o.Problem = "it has none of the forms that may vary"
			}
		}
		q.Offers = append(q.Offers, o)
	}
}

func count(list []string, word string) (n int) {
	for _, s := range list {
		if s == word {
			n++
		}
	}
	return n
}
