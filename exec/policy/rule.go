// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Ruleset is what the configuration says of one command.
type Ruleset struct {
	Exec     string   // the program on the host, absolute; empty: where --proxy or PATH finds it
	SHA256   string   // of the program
	Prepend  []string // arguments that the host puts before the caller's
	GitDir   string   // GitHost, GitMount or empty: what is known of the repository that git reads
	Rules    []Rule
	Settings Settings
	Place    Place  // where it runs, and Exec is
	Where    string // file:line, for people
}

// What can be known of the repository that git reads.
const (
	GitHost  = "host"     // its directory is named by Prepend or the environment, on the host
	GitMount = "ro-mount" // no container can write its .git
)

// CodeAccepted is what a rule accepts that is to allow, without asking, what runs code that
// the container may have written.
const CodeAccepted = "host-code-execution"

// Rule is one rule of a command. Its order among others does not matter: the strictest that
// matches decides.
type Rule struct {
	ID       string
	Do       Action
	Argv     []Element // consume all arguments, in order
	Fixed    []string  // runs in their place
	Always   bool      // Fixed runs whatever the arguments are: there is no Argv
	Effects  []string
	Accept   bool   // CodeAccepted
	Anywhere bool   // what its patterns match may name paths outside of the workspace
	Reason   string // of a denial, for the caller
	Settings Settings
	Yes, No  [][]string // the rule's own tests: what it has to match, and what not
	Where    string

	ready bool
}

const maxElements = 64

// Compile checks r and makes it fit to match. A rule that was not compiled denies.
func (r *Rule) Compile() error {
	if len(r.Argv) > maxElements {
		return fmt.Errorf("%d elements, at most %d are allowed", len(r.Argv), maxElements)
	}
	r.Argv = joined(r.Argv)
	loose := false // after a literal --, arguments may begin with -
	for i := range r.Argv {
		e := &r.Argv[i]
		if err := e.check(); err != nil {
			return err
		}
		e.loose = loose
		loose = loose || e.Kind == Word && e.Words[0] == "--"
	}
	r.ready = true
	return nil
}

// joined makes flags and options that follow each other one element: a command takes them
// in any order.
func joined(argv []Element) []Element {
	var out []Element
	for _, e := range argv {
		if n := len(out); e.Kind == Options && n > 0 && out[n-1].Kind == Options {
			last := &out[n-1]
			last.Flags = append(slices.Clone(last.Flags), e.Flags...)
			last.Opts = append(slices.Clone(last.Opts), e.Opts...)
			continue
		}
		out = append(out, e)
	}
	return out
}

// Kind is the kind of an element.
type Kind int

const (
	Word    Kind = iota // that argument exactly: Words[0]
	Any                 // one of Words
	Re                  // one argument that Token matches
	Args                // Min to Max of them
	Path                // Min to Max paths below a mount
	Options             // any number of Flags and Opts, in any order
	Insert              // consumes nothing: the host puts Words here
)

// Element is one part of a rule's argv.
type Element struct {
	Kind     Kind
	Words    []string
	Token    Token
	Flags    []string // options without a value, spelled exactly so
	Opts     []Opt    // options with one
	Min, Max int      // of Args and Path; Max < 0: any number
	Type     FileType // of Path
	Snapshot Snapshot // of Path

	loose bool
}

// Opt is an option with a value: NAME VALUE as two arguments, or NAME=VALUE.
type Opt struct {
	Name  string
	Value Token
}

func (e *Element) check() error {
	for _, w := range e.Words {
		if strings.ContainsRune(w, 0) {
			return errors.New("an argument cannot hold a NUL")
		}
	}
	switch e.Kind {
	case Word:
		if len(e.Words) != 1 {
			return errors.New("one word wanted")
		}
	case Any:
		if len(e.Words) == 0 {
			return errors.New("any: nothing to choose from")
		}
	case Re:
		e.Min, e.Max = 1, 1
		return e.Token.check()
	case Args:
		return errors.Join(e.Token.check(), e.checkRange())
	case Path:
		return e.checkRange()
	case Options:
		return e.checkOptions()
	}
	return nil
}

func (e *Element) checkRange() error {
	if e.Min < 0 || e.Max == 0 || e.Max > 0 && e.Min > e.Max {
		return fmt.Errorf("min %d, max %d: no such number of arguments", e.Min, e.Max)
	}
	return nil
}

func (e *Element) checkOptions() error {
	seen := map[string]bool{}
	names := slices.Clone(e.Flags)
	for _, o := range e.Opts {
		if err := o.Value.check(); err != nil {
			return fmt.Errorf("option %s: %w", o.Name, err)
		}
		names = append(names, o.Name)
	}
	for _, n := range names {
		switch {
		case len(n) < 2 || n[0] != '-' || n == "--":
			return fmt.Errorf("%q is not an option: it has to begin with -", n)
		case seen[n]:
			return fmt.Errorf("option %s is given twice", n)
		}
		seen[n] = true
	}
	return nil
}
