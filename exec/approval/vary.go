// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// VaryingArgument is the one argument of a grant that may differ from call to call.
type VaryingArgument struct {
	Argument int // in Question.Args, from 1
	Form     policy.Form
	Words    []string  // for FormWords
	Mount    BindMount // for FormPath: the path is below it
}

// BindMount is the bind mount that contains the directory of a call. The zero value is none.
type BindMount struct {
	Target string // in the container
	Source string // on the host
}

// Offer states in which forms an argument of a question may vary. The first form is the default.
type Offer struct {
	Argument int
	Forms    []policy.Form
	Problem  string // why it cannot vary, or empty
}

// VaryError states why an argument cannot vary as wanted.
type VaryError struct{ Reason string }

func (e *VaryError) Error() string { return e.Reason }

func varyError(format string, args ...any) error { return &VaryError{fmt.Sprintf(format, args...)} }

const (
	maxWords = 32
	maxWord  = 128
)

// ParseVary parses N, N=path, N=number or N=WORD,WORD. The form is empty if only N is given.
func ParseVary(spec string) (v VaryingArgument, err error) {
	number, form, given := strings.Cut(spec, "=")
	if v.Argument, err = strconv.Atoi(number); err != nil || v.Argument < 1 || strconv.Itoa(v.Argument) != number {
		return VaryingArgument{}, varyError("%s names no argument: want a number, where 1 is the first after the program", names.Quoted(number))
	}
	switch {
	case !given:
		return v, nil
	case form == string(policy.FormPath), form == string(policy.FormNumber):
		v.Form = policy.Form(form)
		return v, nil
	}
	v.Form, v.Words = policy.FormWords, strings.Split(form, ",")
	return v, v.checkWords()
}

// checkWords refuses lists that do not state a choice of plain words.
func (v VaryingArgument) checkWords() error {
	if len(v.Words) < 2 || len(v.Words) > maxWords {
		return varyError("want path, number, or a list of 2 to %d words with commas", maxWords)
	}
	for i, w := range v.Words {
		if !plain(w) || len(w) > maxWord || slices.Contains(v.Words[:i], w) {
			return varyError("word %d of the list cannot be one: want different words of printable ASCII, without = and without - at the beginning", i+1)
		}
	}
	return nil
}

// plain reports whether s can be the value of a varying argument. Such a value is printable ASCII without spaces at
// its ends, and neither an option nor an assignment.
func plain(s string) bool {
	for _, b := range []byte(s) {
		if b < ' ' || b > '~' || b == '=' {
			return false
		}
	}
	return s != "" && s[0] != '-' && strings.TrimSpace(s) == s
}

// accepts reports whether value has the form of v. For a path this checks only how it is written.
func (v VaryingArgument) accepts(value string) bool {
	if !plain(value) {
		return false
	}
	switch v.Form {
	case policy.FormNumber:
		return names.IsNumber(value)
	case policy.FormPath:
		return PlainPath(value)
	case policy.FormWords:
		return slices.Contains(v.Words, value)
	}
	return false
}

var plainPath = names.Form{First: "A-Za-z0-9./_", Chars: "A-Za-z0-9./_+,@-", Min: 1, Max: 1024}

// PlainPath reports whether s can be the value of a varying path. It must not contain a character that makes a name
// special for some program, as in host:file, @file, *.c and ~. It must not lead to a .git.
func PlainPath(s string) bool {
	return plainPath.Matches(s) && !slices.ContainsFunc(strings.Split(s, "/"), func(name string) bool { return name == ".." || isGitDir(name) })
}

// isGitDir reports whether name is that of a git directory, for file systems that ignore case and dots at the end too.
func isGitDir(name string) bool { return strings.EqualFold(strings.TrimRight(name, "."), ".git") }

// Holds reports whether the file at the path at on the host is below m, and not in a git directory.
func (m BindMount) Holds(at string) bool {
	rest, ok := names.CutDir(path.Clean(at), m.Source)
	return ok && m.Source != "" && rest != "." && !slices.ContainsFunc(strings.Split(rest, "/"), isGitDir)
}

// String describes the values of v: <path below /w>.
func (v VaryingArgument) String() string {
	switch v.Form {
	case policy.FormPath:
		return "<path below " + names.Printable(v.Mount.Target) + ">"
	case policy.FormWords:
		var words []string
		for _, w := range v.Words {
			words = append(words, policy.CommandLine([]string{w}))
		}
		return "<" + strings.Join(words, "|") + ">"
	}
	return "<" + string(v.Form) + ">"
}

// CommandLine returns the command line args for people, in printable ASCII, with v.String() in place of the varying
// argument. An argument that only looks like v.String() is quoted.
func (v VaryingArgument) CommandLine(args []string) string {
	line := policy.CommandLine(args[:v.Argument]) + " " + v.String()
	if rest := args[v.Argument+1:]; len(rest) > 0 {
		line += " " + policy.CommandLine(rest)
	}
	return line
}
