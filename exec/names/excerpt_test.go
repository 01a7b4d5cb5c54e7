// SPDX-License-Identifier: Apache-2.0

package names

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	for _, tt := range []struct {
		text               string
		lines, bytes, more int
		want               string
	}{
		{"", 3, 99, 0, ""},
		{"", 3, 99, 2, "... 2 more lines are not shown\n"},
		{"a\n\n\tb", 3, 99, 0, "a\n\n\tb\n"},
		{"a\nb\nc\nd\n", 3, 99, 0, "a\nb\nc\n... 1 more line is not shown\n"},
		{"a\nb\nc\n", 3, 3, 4, "a\n... 6 more lines are not shown\n"},
		{strings.Repeat("x", 2000), 3, 9999, 0, strings.Repeat("x", 1000) + "... (2000 characters)\n"},
		{strings.Repeat("x", 100), 3, 99, 0, "... 1 more line is not shown\n"},
		{"\x1b[2Jevil\r\nfine\n", 3, 99, 0, `"\x1b[2Jevil\r"` + "\nfine\n"},
		{"\u202eevil\n\xff", 3, 99, 0, `"\u202eevil"` + "\n" + `"\xff"` + "\n"},
	} {
		if got := Excerpt(tt.text, tt.lines, tt.bytes, tt.more); got != tt.want {
			t.Errorf("Excerpt(%q, %d, %d, %d) = %q, want %q", tt.text, tt.lines, tt.bytes, tt.more, got, tt.want)
		}
	}
}
