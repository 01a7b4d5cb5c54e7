// SPDX-License-Identifier: Apache-2.0

package control

import (
	"slices"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Offer is an argument of a question that may vary. It is a JSON object of the API in docs/api.md.
type Offer struct {
	Argument int           `json:"argument"`        // 1 is the first after the program
	Forms    []policy.Form `json:"forms"`           // number, path, words; the first is the default
	Below    string        `json:"below,omitempty"` // for path: the directory in the container
}

// VaryingArgument is the argument of a grant that varies. It is a JSON object of the API in docs/api.md.
type VaryingArgument struct {
	Argument int         `json:"argument"`
	Form     policy.Form `json:"form"`
	Words    []string    `json:"words,omitempty"`
	Below    string      `json:"below,omitempty"`
	Rule     string      `json:"rule"` // the grant's command line, with the values of the argument
}

// shownOffers returns the arguments of q that may vary.
func shownOffers(q *approval.Question) (list []Offer) {
	for _, o := range q.Offers {
		if len(o.Forms) == 0 {
			continue
		}
		s := Offer{Argument: o.Argument, Forms: o.Forms}
		if slices.Contains(o.Forms, policy.FormPath) {
			s.Below = names.Printable(q.Mount.Target)
		}
		list = append(list, s)
	}
	return list
}

// shownVarying returns the varying argument of g, or nil.
func shownVarying(g *approval.Grant) *VaryingArgument {
	v := g.Varying
	if v == nil {
		return nil
	}
	return &VaryingArgument{
		Argument: v.Argument, Form: v.Form, Words: names.PrintableArgs(v.Words), Below: names.Printable(v.Mount.Target),
		Rule: v.CommandLine(g.Question.Named()),
	}
}

// CommandLine returns the command line of g, with the values of an argument that varies.
func (g StandingAnswer) CommandLine() string {
	if g.Vary != nil {
		return g.Vary.Rule
	}
	return CommandLine(words(g.Args, g.Named)) + g.Cut.String()
}

// VaryCommandLine returns the command line of a grant for q in which the argument of spec varies: see
// approval.VaryingArgument.CommandLine. It returns "" if q does not offer that argument: the watcher says why.
func (q *Question) VaryCommandLine(spec string) (string, error) {
	v, err := approval.ParseVary(spec)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(q.Vary, func(o Offer) bool { return o.Argument == v.Argument })
	if i < 0 {
		return "", nil
	}
	asked := approval.Question{Args: make([]string, len(q.Args)), Offers: []approval.Offer{{Argument: v.Argument, Forms: q.Vary[i].Forms}}}
	asked.Mount.Target, _ = Unquoted(q.Vary[i].Below)
	for n, arg := range q.Words() { // a copy never varies
		asked.Args[n], _ = Unquoted(arg)
	}
	chosen, err := asked.VaryingArgument(spec)
	if err != nil {
		return "", err
	}
	return chosen.CommandLine(asked.Args), nil
}
