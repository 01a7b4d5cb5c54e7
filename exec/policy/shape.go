// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Shape describes the arguments that a rule matches in one line for people. It contains literal words, /patterns/,
// [options], PATH, and +(arguments that the host inserts). (anywhere) means that patterns may name any path, and
// (confined) that the rule is for sandboxes and containers only.
func (r *Rule) Shape() string {
	var parts []string
	for _, e := range r.Argv {
		parts = append(parts, e.shape())
	}
	switch {
	case r.AnyArgs:
		parts = []string{AnyArguments}
	case len(parts) == 0:
		parts = []string{NoArguments}
	}
	if r.Fixed != nil {
		parts = append(parts, "=> "+CommandLine(r.Fixed))
	}
	if r.Anywhere {
		parts = append(parts, "(anywhere)")
	}
	if r.Confined {
		parts = append(parts, "(confined)")
	}
	return strings.Join(parts, " ")
}

func (e Element) shape() string {
	switch e.Kind {
	case KindWord:
		return CommandLine(e.Words)
	case KindAny:
		var words []string
		for _, w := range e.Words {
			words = append(words, CommandLine([]string{w}))
		}
		return strings.Join(words, "|")
	case KindRegexp:
		return e.Pattern.shape()
	case KindArgs:
		return e.Pattern.shape() + e.times()
	case KindPath:
		return "PATH" + e.times()
	case KindInsert:
		return "+(" + CommandLine(e.Words) + ")"
	}
	names := append([]string{}, e.Flags...)
	for _, o := range e.Opts {
		names = append(names, o.Name+" "+o.Value.shape())
	}
	return "[" + strings.Join(names, " | ") + "]"
}

func (p ArgPattern) shape() string {
	s := strconv.QuoteToASCII(p.Source)
	return "/" + strings.ReplaceAll(s[1:len(s)-1], `\\`, `\`) + "/"
}

func (e Element) times() string {
	switch {
	case e.Min == 1 && e.Max == 1:
		return ""
	case e.Max < 0:
		return fmt.Sprintf("{%d,}", e.Min)
	}
	return fmt.Sprintf("{%d,%d}", e.Min, e.Max)
}
