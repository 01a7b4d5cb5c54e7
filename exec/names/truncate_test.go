// SPDX-License-Identifier: Apache-2.0

package names

import (
	"strings"
	"testing"
)

func TestTruncateArgs(t *testing.T) {
	const maxBytes = 4 << 10
	for _, args := range [][]string{{"a", "b"}, {strings.Repeat("x", maxBytes)}, {"a", strings.Repeat("x", 1<<20)}, strings.Split(strings.Repeat("x ", 1<<20), " ")} {
		n := 0
		list, cut := TruncateArgs(args, maxBytes)
		for _, arg := range list {
			n += len(arg)
		}
		if n > maxBytes+3 || len(list) > maxBytes+1 || cut != (size(list) != size(args)) {
			t.Errorf("%d bytes of %d arguments, cut is %t", n, len(args), cut)
		}
	}
	for _, tt := range []struct {
		args []string
		max  int
		want string
		cut  bool
	}{
		{[]string{"a", "", "b"}, 9, "a||b", false}, {[]string{"ab", "c"}, 4, "ab|c", false}, {[]string{"ab", "c"}, 3, "ab|...", true}, {[]string{"abc"}, 2, "ab...", true},
		{[]string{"abc"}, 3, "abc", false}, {[]string{"a\u20acb"}, 3, "a...", true}, {[]string{"a\u20acb"}, 4, "a\u20ac...", true}, {[]string{"\x80\x80\x80\x80\x80\x80"}, 5, "\x80\x80\x80\x80\x80...", true},
		{[]string{"", ""}, 1, "|...", true},
	} {
		if got, cut := TruncateArgs(tt.args, tt.max); strings.Join(got, "|") != tt.want || cut != tt.cut {
			t.Errorf("TruncateArgs(%q, %d) = %q, %t, want %q, %t", tt.args, tt.max, got, cut, tt.want, tt.cut)
		}
	}
}

func TestWholeRunes(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "a": 1, "a\xc3": 1, "a\xc3\xa9": 3, "\xe2\x82": 0, "a\xe2\x82\xac": 4,
		"a\xf0\x9f\x98": 1, "\xf0\x9f\x98\x80": 4, "a\xff": 2, "\x80\x80\x80\x80": 4, "\xc3a": 2,
	} {
		if got := WholeRunes([]byte(s)); got != want {
			t.Errorf("WholeRunes(%q) = %d, want %d", s, got, want)
		}
	}
}

func size(args []string) (n int) {
	for _, arg := range args {
		n += len(arg) + 1
	}
	return n
}
