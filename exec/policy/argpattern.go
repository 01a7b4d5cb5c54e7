// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxPattern is the maximum length of a regular expression, in bytes.
const MaxPattern = 1024

// ArgPattern is a regular expression that must match one whole argument. The zero value matches nothing.
type ArgPattern struct {
	Source  string
	unicode bool
	dashed  bool // it spells an option out
	re      *regexp.Regexp
}

// ParseArgPattern compiles a pattern for one argument. It anchors the pattern at both ends. The pattern
// matches printable ASCII only, or any printable text if wide is set.
func ParseArgPattern(source string, wide bool) (ArgPattern, error) {
	if err := checkPattern(source); err != nil {
		return ArgPattern{}, err
	}
	re, err := regexp.Compile(`\A(?:` + source + `)\z`)
	if err != nil {
		return ArgPattern{}, err
	}
	return ArgPattern{Source: source, unicode: wide, dashed: dashed(source), re: re}, nil
}

// dashed reports whether every text that a pattern matches begins with the same option: -j, --jobs.
func dashed(source string) bool {
	prefix, _ := regexp.MustCompile(source).LiteralPrefix() // it compiled before
	name := strings.TrimLeft(prefix, "-")
	return name != "" && name != prefix
}

func (p ArgPattern) check() error {
	if p.re == nil {
		return errors.New("no pattern")
	}
	return nil
}

func (p ArgPattern) match(s string) bool {
	if p.re == nil || !ascii(s) && !(p.unicode && printable(s)) {
		return false
	}
	return p.re.MatchString(s)
}

// ascii reports whether s consists of printable ASCII only.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// checkPattern refuses patterns whose meaning would differ from their appearance.
func checkPattern(source string) error {
	if len(source) > MaxPattern {
		return fmt.Errorf("%d bytes of pattern, at most %d are allowed", len(source), MaxPattern)
	}
	if !printable(source) {
		return errors.New("a pattern has to be printable")
	}
	if _, err := regexp.Compile(source); err != nil { // without the anchors: a)|(b would escape from the group
		return err
	}
	if hasFlags(source) {
		return errors.New("flags such as (?m) change what ^ and $ mean, and are not allowed")
	}
	return nil
}

// hasFlags reports whether a valid pattern sets flags. A flag group begins with (?, but not with
// (?:, (?P< or (?<.
func hasFlags(source string) bool {
	class, literal := false, false
	for i := 0; i < len(source); i++ {
		rest := source[i:]
		switch {
		case literal: // \Q to \E
			if strings.HasPrefix(rest, `\E`) {
				literal = false
				i++
			}
		case source[i] == '\\':
			literal = strings.HasPrefix(rest, `\Q`)
			i++
		case class:
			switch {
			case strings.HasPrefix(rest, "[:"):
				if end := strings.Index(rest[2:], ":]"); end >= 0 {
					i += end + 3
				}
			case source[i] == ']':
				class = false
			}
		case source[i] == '[':
			class = true
			if strings.HasPrefix(source[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(source[i+1:], "]") { // a ] in the first position is literal
				i++
			}
		case strings.HasPrefix(rest, "(?"):
			if !strings.HasPrefix(rest, "(?:") && !strings.HasPrefix(rest, "(?P<") && !strings.HasPrefix(rest, "(?<") {
				return true
			}
		}
	}
	return false
}
