// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Ruleset is the configuration of one command.
type Ruleset struct {
	Exec     string   // the program in Place, absolute; empty: from --proxy or PATH
	SHA256   string   // of the program
	Prepend  []string // arguments that the host inserts before the caller's
	GitDir   string   // GitHost, GitMount or empty: which repository git reads
	Rules    []Rule
	Approved []Rule // these allow requests about which a person would be asked
	Settings Settings
	Place    Place // where it runs and where Exec is
	Sandbox  Sandbox
	Position string // file:line, for people
}

// Values of Ruleset.GitDir.
const (
	GitHost  = "host"     // Prepend or the environment names a git directory on the host
	GitMount = "ro-mount" // no container can write the .git directory
)

// CodeAccepted is the value of accept in a rule. With it, the rule allows commands that may run
// code that the container wrote, without asking.
const CodeAccepted = "host-code-execution"

// Rule is one rule of a command. The strictest rule that matches decides; of equally strict ones, the first. It has a
// field for each key of the configuration.
type Rule struct {
	ID                      string
	Do                      Action
	Argv                    []Element // must match all arguments, in order
	Fixed                   []string  // runs instead of the caller's arguments
	AnyArgs                 bool      // Fixed runs for any arguments; Argv is empty
	Effects                 []string
	Accept                  bool     // the rule accepts CodeAccepted
	Anywhere                bool     // arguments that patterns match may name paths outside of the workspace
	Confined                bool     // of Approved: only for a command that runs in a sandbox or a container
	Reason                  string   // of a denial, for the caller
	Inputs                  []string // patterns of the files that decide what the command runs; empty: known by the program
	Preview                 []string // arguments with which the command only shows what it would do; empty: there is no preview
	Settings                Settings
	MustMatch, MustNotMatch [][]string // the rule's own tests: arguments that it must match and must not match
	Position                string

	ready bool
}

const maxElements = 64

// Compile checks r and prepares it for matching. A rule that is not compiled denies.
func (r *Rule) Compile() error {
	if len(r.Argv) > maxElements {
		return fmt.Errorf("%d elements, at most %d are allowed", len(r.Argv), maxElements)
	}
	r.Argv = mergeOptions(r.Argv)
	loose := false // after a literal --, arguments may begin with -
	for i := range r.Argv {
		e := &r.Argv[i]
		if err := e.check(); err != nil {
			return err
		}
		e.afterDashDash = loose
		loose = loose || e.Kind == KindWord && e.Words[0] == "--"
	}
	r.ready = true
	return nil
}

// mergeOptions merges adjacent flags and options into one element, because commands accept them in any
// order.
func mergeOptions(argv []Element) []Element {
	var out []Element
	for _, e := range argv {
		if n := len(out); e.Kind == KindOptions && n > 0 && out[n-1].Kind == KindOptions {
			last := &out[n-1]
			last.Flags = append(slices.Clone(last.Flags), e.Flags...)
			last.Opts = append(slices.Clone(last.Opts), e.Opts...)
			continue
		}
		out = append(out, e)
	}
	return out
}

// ElementKind is the kind of an element.
type ElementKind int

const (
	KindWord    ElementKind = iota // one argument equal to Words[0]
	KindAny                        // one argument equal to any of Words
	KindRegexp                     // one argument that Pattern matches
	KindArgs                       // Min to Max arguments that Pattern matches
	KindPath                       // Min to Max paths below a mount
	KindOptions                    // any number of Flags and Opts, in any order
	KindInsert                     // matches no argument: the host inserts Words here
)

// Element is one part of a rule's argv.
type Element struct {
	Kind     ElementKind
	Words    []string
	Pattern  ArgPattern
	Flags    []string // options without a value, exactly as spelled
	Opts     []Opt    // options with a value
	Min, Max int      // for Args and Path; Max < 0: any number
	Type     FileType // for Path
	Snapshot Snapshot // for Path

	afterDashDash bool
}

// Opt is an option with a value: NAME VALUE as two arguments or, unless NAME is a dash and one letter, NAME=VALUE.
type Opt struct {
	Name  string
	Value ArgPattern
}

func (e *Element) check() error {
	for _, w := range e.Words {
		if strings.ContainsRune(w, 0) {
			return errors.New("an argument cannot hold a NUL")
		}
	}
	switch e.Kind {
	case KindWord:
		if len(e.Words) != 1 {
			return errors.New("a word element has exactly one word")
		}
	case KindAny:
		if len(e.Words) == 0 {
			return errors.New("any: the list of words is empty")
		}
	case KindRegexp:
		e.Min, e.Max = 1, 1
		return e.Pattern.check()
	case KindArgs:
		return errors.Join(e.Pattern.check(), e.checkRange())
	case KindPath:
		return e.checkRange()
	case KindOptions:
		return e.checkOptions()
	}
	return nil
}

func (e *Element) checkRange() error {
	if e.Min < 0 || e.Max == 0 || e.Max > 0 && e.Min > e.Max {
		return fmt.Errorf("min %d, max %d: max must be at least 1, and not below min", e.Min, e.Max)
	}
	return nil
}

func (e *Element) checkOptions() error {
	seen := map[string]bool{}
	options := slices.Clone(e.Flags)
	for _, o := range e.Opts {
		if err := o.Value.check(); err != nil {
			return fmt.Errorf("option %s: %w", o.Name, err)
		}
		options = append(options, o.Name)
	}
	for _, n := range options {
		switch {
		case len(n) < 2 || n[0] != '-' || n == "--":
			return fmt.Errorf("%s is not an option: it has to begin with -", names.Quoted(n))
		case seen[n]:
			return fmt.Errorf("option %s is given twice", n)
		}
		seen[n] = true
	}
	return nil
}
