// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Form is the set of values of an argument that may vary in a grant.
type Form string

const (
	FormNumber Form = "number" // a decimal number
	FormPath   Form = "path"   // an existing path below the bind mount of the call
	FormWords  Form = "words"  // a word of a list
)

// MaxVarying is the greatest number of an argument that may vary.
const MaxVarying = 64

var (
	errVaryNumber  = fmt.Errorf("arguments are numbered from 1 to %d; the program has no number, because it cannot vary", MaxVarying)
	errVaryCode    = errors.New("it may run code of the container on the host, so nothing of it can vary; with where: sandbox it could")
	errVaryOption  = errors.New("it is an option, or may set one")
	errVaryCommand = errors.New("its arguments are a program, or choose what runs")
	errVaryVerb    = errors.New("it may choose what the program does")
	errVaryValue   = errors.New("it may be the value of an option that names code or configuration")
	errVaryDashes  = errors.New("after --, an argument may be a command")
)

// VaryForms returns the forms in which argument n of v may vary in a grant. There are none if other values of the
// argument could make the command another one: then the error says why.
func (p *Policy) VaryForms(v Verdict, n int) ([]Form, error) {
	name := v.Args[0]
	switch {
	case n < 1 || n >= len(v.Args) || n > MaxVarying:
		return nil, errVaryNumber
	case name == GitPush || name == Shell || v.TargetContainer() != "":
		return nil, errVaryCommand
	case !v.Place.Confined() && v.Grade != GradeNone && v.Grade != GradeUnknown:
		return nil, errVaryCode
	case strings.HasPrefix(v.Args[n], "-"), strings.Contains(v.Args[n], "="):
		return nil, errVaryOption
	}
	forms := []Form{FormNumber, FormPath, FormWords}
	for _, name := range p.programs(name, v.Command.Path) {
		some, err := varyForms(name, v.Args, n)
		if err != nil {
			return nil, err
		}
		forms = slices.DeleteFunc(forms, func(f Form) bool { return !slices.Contains(some, f) })
	}
	return forms, nil
}

// varyForms is VaryForms for a program called name.
func varyForms(name string, args []string, n int) ([]Form, error) {
	t := tool(name)
	is := func(set func(string) bool) bool { return set(name) || set(t) }
	dashes := slices.Contains(args[1:n], "--")
	switch {
	case plainCommands(name) || harmlessCommands(name):
		return []Form{FormNumber, FormPath, FormWords}, nil
	case is(wrappers), is(commandLanguages), is(targetRunners):
		return nil, errVaryCommand
	case t == "git":
		return gitVaryForms(args, n)
	case dashes:
		return nil, errVaryDashes
	case takesCode(args[n-1]), t == "tar" && tarTakesCode(args[1]):
		return nil, errVaryValue
	case is(scripts):
		if strings.HasPrefix(args[n-1], "-") || n == 1 {
			return nil, errVaryCommand
		}
	case is(toolsWithVerbs) || runs(name) && !toolsWithoutVerbs(t):
		switch verbs, verb := positionalBefore(args, n, nil); {
		case verbs < 2:
			return nil, errVaryVerb
		case is(toolsWithVerbs) && commandVerbs(verb) && t != "gh" && t != "glab": // gh run view
			return nil, errVaryCommand
		}
	}
	if !strings.Contains(args[n], "/") { // a container could make a file with the name of a subcommand
		return []Form{FormNumber, FormWords}, nil
	}
	return []Form{FormNumber, FormPath, FormWords}, nil
}

// gitVaryForms is varyForms for git. A path varies only where git takes no revision.
func gitVaryForms(args []string, n int) ([]Form, error) {
	before, verb := positionalBefore(args, n, gitOptions)
	dashes := slices.Contains(args[1:n], "--")
	switch {
	case before < 1 || before < 2 && !gitPlainVerbs(verb):
		return nil, errVaryVerb
	case gitCodeVerbs(verb):
		return nil, errVaryCommand
	case !dashes && takesCode(args[n-1]):
		return nil, errVaryValue
	case gitPathVerbs(verb) || dashes && gitPlainVerbs(verb):
		return []Form{FormNumber, FormPath, FormWords}, nil
	}
	return []Form{FormNumber, FormWords}, nil
}

// positionalBefore returns the number of positional arguments before argument n, and the first of them. It returns 0 if
// argument n is the value of an option in options. It also returns 0 after an unknown option before the first two,
// because the next argument could be its value. Options after the verb of git do not matter. The value of options is
// the number of arguments after an option.
func positionalBefore(args []string, n int, options map[string]int) (count int, first string) {
	for i := 1; i < n; i++ {
		arg := args[i]
		values, known := options[arg]
		switch {
		case arg == "--" && count > 0:
		case count > 0 && options != nil && strings.HasPrefix(arg, "-"): // the options of a verb of git
		case count < 2 && strings.HasPrefix(arg, "-"):
			if !known {
				return 0, ""
			}
			i += values
			if i >= n { // argument n is the value
				return 0, ""
			}
		case !strings.HasPrefix(arg, "-"):
			if count == 0 {
				first = arg
			}
			count++
		}
	}
	return count, first
}

// takesCode reports whether the argument after option may be code, a program, or configuration that names one.
func takesCode(option string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(option, "-"), "=")
	switch {
	case !strings.HasPrefix(option, "-") || name == "":
		return false
	case !strings.HasPrefix(option, "--") && strings.ContainsAny(name[:1]+name[len(name)-1:], codeLetters):
		return true
	}
	if name = strings.ToLower(name); name == "pre" { // of rg
		return true
	}
	return slices.ContainsFunc(codeOptions, func(part string) bool { return strings.Contains(name, part) })
}

// tarTakesCode reports whether letters are options of tar without a dash, and one of them takes a later argument as a
// program or a script.
func tarTakesCode(letters string) bool {
	return !strings.HasPrefix(letters, "-") && strings.ContainsAny(letters, "FI")
}
