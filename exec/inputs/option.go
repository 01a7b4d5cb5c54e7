// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// grammar is the options of a program that are known. Each other option may name a file, and is an error.
type grammar struct {
	flags     string            // letters of options without a value
	values    string            // letters of options with a value
	separate  string            // letters of options whose value is the next argument; refused if more letters follow
	optional  string            // letters of options with a value that is attached to the letter, or none
	longFlags func(string) bool // without the --
	longs     func(string) bool // with a value: --name=value, or --name value
	optionals func(string) bool // --name, or --name=value
	plus      bool              // options may begin with +, as set -o does
	first     bool              // options end at the first positional argument
}

// option is an option with a value.
type option struct {
	name  string // one letter, or a long name
	value string
	index int // of the value in the arguments, if it is an argument of its own; otherwise 0
}

// parse returns the options with values and the indexes of the positional arguments in args, from args[at].
func (g grammar) parse(args []string, at int) (options []option, positional []int, err error) {
	for i := at; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			for i++; i < len(args); i++ {
				positional = append(positional, i)
			}
			return options, positional, nil
		case strings.HasPrefix(a, "--"):
			o, used, err := g.long(args, i)
			if err != nil {
				return nil, nil, err
			}
			options = append(options, o...)
			i += used
		case len(a) > 1 && a[0] == '-' || g.plus && strings.HasPrefix(a, "+"):
			o, used, err := g.cluster(args, i)
			if err != nil {
				return nil, nil, err
			}
			options = append(options, o...)
			i += used
		default:
			positional = append(positional, i)
			if g.first {
				for i++; i < len(args); i++ {
					positional = append(positional, i)
				}
			}
		}
	}
	return options, positional, nil
}

// long parses the long option args[i]. used is the number of further arguments that it takes.
func (g grammar) long(args []string, i int) (o []option, used int, err error) {
	name, value, given := strings.Cut(args[i][2:], "=")
	switch {
	case known(g.longs, name) && given:
		return []option{{name, value, 0}}, 0, nil
	case known(g.longs, name) && i+1 < len(args):
		return []option{{name, args[i+1], i + 1}}, 1, nil
	case known(g.longFlags, name) && !given, known(g.optionals, name):
		return nil, 0, nil
	}
	return nil, 0, unknownOption("--" + name)
}

// cluster parses letters behind one -.
func (g grammar) cluster(args []string, i int) (o []option, used int, err error) {
	if len(args[i]) == 1 { // shells skip a +
		return nil, 0, unknownOption(args[i])
	}
	for at, letter := range args[i][1:] {
		rest := args[i][1+at+len(string(letter)):]
		switch name := string(letter); {
		case strings.Contains(g.flags, name):
		case strings.Contains(g.optional, name):
			return o, used, nil
		case strings.Contains(g.separate, name) && rest == "" && i+1 < len(args):
			return append(o, option{name, args[i+1], i + 1}), 1, nil
		case strings.Contains(g.values, name) && rest != "":
			return append(o, option{name, rest, 0}), used, nil
		case strings.Contains(g.values, name) && i+1 < len(args):
			return append(o, option{name, args[i+1], i + 1}), 1, nil
		default:
			return nil, 0, unknownOption("-" + name)
		}
	}
	return o, used, nil
}

func known(set func(string) bool, name string) bool { return set != nil && set(name) }

func unknownOption(name string) error {
	return fmt.Errorf("nothing says which files the option %s reads", names.Quoted(name))
}
