// SPDX-License-Identifier: Apache-2.0

package control

import (
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Question is the form in which a waiting question is shown: all texts are printable ASCII. It is a JSON object of the
// API in docs/api.md, with a field for each key.
type Question struct {
	ID           string       `json:"id"`
	Args         []string     `json:"args"`            // quoted as in Go if not printable
	Named        []string     `json:"named,omitempty"` // Args as the caller wrote them; absent: no argument is a copied file
	Cwd          string       `json:"cwd"`             // in the container
	Dir          string       `json:"dir"`             // on the host
	Path         string       `json:"path"`            // the program
	Rule         string       `json:"rule"`
	Session      string       `json:"session"`
	Container    string       `json:"container"`
	Project      string       `json:"project"` // base name of the directory where the session was started
	Branch       string       `json:"branch,omitempty"`
	Agent        string       `json:"agent,omitempty"`
	Effects      []string     `json:"effects,omitempty"` // effects of the command, from the rule
	Code         bool         `json:"code,omitempty"`    // it may run code that the container can write
	Grade        policy.Grade `json:"grade,omitempty"`   // how likely Code is: certain, possible or unknown
	Notes        []string     `json:"notes,omitempty"`   // more facts for the decision
	Asked        time.Time    `json:"asked"`
	Deadline     time.Time    `json:"deadline"`
	Waiting      []string     `json:"waiting"`          // the requests that get the same answer
	Disconnected int          `json:"gone"`             // how many of them have no caller any more
	Digest       string       `json:"digest,omitempty"` // of the question, for the decision; absent if the texts are cut
	Group        string       `json:"group,omitempty"`  // equal for the questions of one group; absent if the texts are cut
	Vary         []Offer      `json:"vary,omitempty"`   // arguments that may vary in a grant; absent if the texts are cut
	Cut          *Cut         `json:"cut,omitempty"`    // in a list: the texts are cut

	Inputs   *Inputs `json:"inputs,omitempty"`    // the files on whose content an approval can depend
	NoInputs string  `json:"no_inputs,omitempty"` // why it cannot
	Diff     string  `json:"diff,omitempty"`      // how they differ from the approved ones; with newlines and tabs

	Preview *Preview `json:"preview,omitempty"` // output of a run before the question, which shows what the command would do

	Earlier approval.Earlier `json:"earlier,omitzero"` // earlier requests for the same, and their answers
}

// Preview is the output of a command that was run with further arguments, in a sandbox that can write nothing.
type Preview struct {
	Added   []string `json:"added"`             // the arguments that the rule adds
	Output  string   `json:"output"`            // its beginning; with newlines and tabs
	Problem string   `json:"problem,omitempty"` // why there is no output, or not all of it
}

// Title describes the output, or says why there is none.
func (p *Preview) Title() string {
	title := "Preview with " + strings.Join(p.Added, " ")
	switch {
	case p.Output == "" && p.Problem != "":
		return "No preview: " + p.Problem
	case p.Output == "":
		return title + ": it printed nothing"
	case p.Problem != "":
		return title + ", which failed: " + p.Problem
	}
	return title + ", as the program reports it"
}

// String returns the title and the output, or "" if p is nil.
func (p *Preview) String() string {
	if p == nil {
		return ""
	}
	return strings.TrimSuffix(p.Title()+"\n"+p.Output, "\n")
}

func shownPreview(p *approval.Preview) *Preview {
	if p == nil {
		return nil
	}
	return &Preview{names.PrintableArgs(p.Added), p.Output, names.Plain(p.Problem)}
}

// Decision is the body of an approval or denial.
type Decision struct {
	Digest  string   `json:"digest"`
	Waiting []string `json:"waiting"` // the requests that were shown
	Reason  string   `json:"reason,omitempty"`

	// At most one of these is set; none means once.
	For    string `json:"for,omitempty"`    // a duration such as 15m
	Times  int    `json:"times,omitempty"`  // calls, including those that wait
	Always bool   `json:"always,omitempty"` // for this session

	Unchanged bool `json:"unchanged,omitempty"` // only while the inputs are unchanged; alone: for this session

	Vary string `json:"vary,omitempty"` // in addition: the argument that may vary, as in 2=path
}

// Terms returns the terms of the grant. The zero value, which Queue.Grant does not accept, means once. The error is
// approval.ErrTerms.
func (d *Decision) Terms() (approval.Terms, error) {
	t := approval.Terms{Times: d.Times, Always: d.Always, Unchanged: d.Unchanged, Vary: d.Vary}
	if d.For == "" {
		return t, nil
	}
	var err error
	if t.For, err = time.ParseDuration(d.For); err != nil || t.For <= 0 {
		return approval.Terms{}, approval.ErrTerms
	}
	return t, nil
}

func shown(q approval.Question) Question {
	s := Question{
		ID: q.ID, Args: names.PrintableArgs(q.Args), Cwd: names.Printable(q.Cwd), Dir: names.Printable(q.Dir), Path: names.Printable(q.Path),
		Rule: names.Printable(q.Rule), Session: q.Session, Container: names.Printable(q.Container), Project: names.Printable(q.Project),
		Asked: q.Asked, Deadline: q.Deadline, Waiting: q.Waiting, Disconnected: q.Disconnected, Digest: q.ShownDigest(),
		Inputs: shownInputs(q.Inputs), NoInputs: names.Plain(q.NoInputs), Diff: q.Diff, Preview: shownPreview(q.Preview), Earlier: q.Earlier,
	}
	s.Named = shownNames(&q)
	s.Grade, s.Vary, s.Group = q.Grade, shownOffers(&q), q.Group()
	s.Branch, s.Agent, s.Effects, s.Code, s.Notes = names.Printable(q.Branch), names.Printable(q.Agent), names.PrintableArgs(q.Effects), q.Grade.MayRunCode(), texts(q.Notes)
	return s
}

// shownNames returns the arguments of q with the caller's words for copies, or nil if there are none.
func shownNames(q *approval.Question) []string {
	if len(q.Copied) == 0 {
		return nil
	}
	return names.PrintableArgs(q.Named())
}

// Words returns the arguments for a line: a copied file has the name that the caller gave.
func (q *Question) Words() []string { return words(q.Args, q.Named) }

func words(args, named []string) []string {
	if named != nil {
		return named
	}
	return args
}

// texts returns sentences of the host. Texts of the container in them are quoted already.
func texts(all []string) []string {
	shown := make([]string, len(all))
	for i, text := range all {
		shown[i] = names.Plain(text)
	}
	return shown
}
