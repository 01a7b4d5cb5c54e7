// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// maxPattern is the maximum length of a caller's pattern in bytes.
	maxPattern = 1 << 10
	// maxPatternSize is the maximum size of the compiled pattern, about in instructions.
	maxPatternSize = 2000
)

// parseLine parses a caller's pattern. It refuses short patterns that would take a hundred megabytes, or
// milliseconds for each line.
func parseLine(source string) (*regexp.Regexp, error) {
	if source == "" || len(source) > maxPattern {
		return nil, fmt.Errorf("want a regular expression of 1 to %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if patternSize(tree) > maxPatternSize {
		return nil, errors.New("the regular expression repeats too much")
	}
	return regexp.Compile(source)
}

// patternSize returns the approximate number of instructions of a compiled pattern, at most maxPatternSize+1.
func patternSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += patternSize(sub)
		if n > maxPatternSize {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxPatternSize+1)
}
