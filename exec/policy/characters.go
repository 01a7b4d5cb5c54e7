// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
)

// Reasons why no pattern can match a text, whatever the pattern says.
const (
	notPrintable = "is not printable, and patterns match printable text only"
	notASCII     = "is not ASCII, and the pattern has no unicode: true"
	pathNotASCII = "is not printable ASCII, as a path has to be"
)

// wrongCharacters returns the argument whose characters are the reason why the last match failed, and that reason, or
// "". The elements that failed have been charged for a look at it (useStep).
func (m *matcher) wrongCharacters() string {
	for _, i := range m.failedElements {
		if i == len(m.argv) || m.furthest == len(m.args) {
			continue
		}
		n, why := m.furthest, ""
		switch e, a := &m.argv[i], m.args[m.furthest]; e.Kind {
		case KindRegexp, KindArgs:
			why = e.Pattern.wrongCharacters(a)
		case KindPath:
			if !ascii(a) {
				why = pathNotASCII
			}
		case KindOptions:
			n, why = m.wrongValue(e)
		}
		if why != "" {
			return fmt.Sprintf("argument %d %s", n+1, why)
		}
	}
	return ""
}

// wrongValue is wrongCharacters for the value of an option of e. It returns the index of the argument with that value.
func (m *matcher) wrongValue(e *Element) (index int, why string) {
	name, inline, given := strings.Cut(m.args[m.furthest], "=")
	for _, o := range e.Opts {
		switch {
		case o.Name == m.args[m.furthest] && m.furthest+1 < len(m.args):
			index, why = m.furthest+1, o.Value.wrongCharacters(m.args[m.furthest+1])
		case given && o.Name == name:
			index, why = m.furthest, o.Value.wrongCharacters(inline)
		}
		if why != "" {
			break
		}
	}
	return index, why
}

// wrongCharacters returns the reason why the characters of s keep p from matching it, or "".
func (p ArgPattern) wrongCharacters(s string) string {
	switch {
	case p.re == nil || ascii(s):
		return ""
	case !printable(s):
		return notPrintable
	case !p.unicode && p.re.MatchString(s) && !strings.HasPrefix(s, "-"): // such a text may be refused as an option
		return notASCII
	}
	return ""
}
