// SPDX-License-Identifier: Apache-2.0

package names

import (
	"fmt"
	"strings"
)

// maxLine is the maximum number of bytes of a line of an Excerpt.
const maxLine = 1000

// Excerpt returns the beginning of a text for a person. It has at most the given number of lines and bytes, followed by
// the number of lines that are left out. Long lines are cut. more is the number of lines that text itself already
// lacks.
func Excerpt(text string, lines, bytes, more int) string {
	var b strings.Builder
	if text != "" {
		all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i, line := range all {
			if line = PlainLine(line); len(line) > maxLine {
				line = fmt.Sprintf("%s... (%d characters)", line[:maxLine], len(line)) // it is ASCII
			}
			if i == lines || b.Len()+len(line) >= bytes {
				more += len(all) - i
				break
			}
			b.WriteString(line + "\n")
		}
	}
	switch {
	case more == 1:
		b.WriteString("... 1 more line is not shown\n")
	case more > 1:
		fmt.Fprintf(&b, "... %d more lines are not shown\n", more)
	}
	return b.String()
}
