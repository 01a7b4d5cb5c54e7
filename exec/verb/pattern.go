// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// maxPattern is how long a pattern of a caller's may be, in bytes.
	maxPattern = 1 << 10
	// maxPatternSize is how large it may become when its repetitions are written out.
	maxPatternSize = 2000
)

// parseLine reads a caller's pattern. It refuses patterns of few bytes that would take a hundred megabytes,
// or milliseconds for each line.
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

// patternSize returns about how many instructions a pattern becomes, at most a little over maxPatternSize.
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
