// SPDX-License-Identifier: Apache-2.0

package names

import (
	"regexp"
	"strings"
	"testing"
)

// TestQuoted checks that only a plain word is unchanged.
func TestQuoted(t *testing.T) {
	for s, want := range map[string]string{
		"make": "make", "x=/bin/y": "x=/bin/y", "it's": "it's", "": `""`, "a b": `"a b"`, `a"b`: `"a\"b"`, `a\b`: `"a\\b"`, "a\x1b[2J": `"a\x1b[2J"`, "m\u00e4ke": `"m\u00e4ke"`,
	} {
		if got := Quoted(s); got != want {
			t.Errorf("Quoted(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	forms := []struct {
		form Form
		same string
	}{
		{Form{}, `\A\z`},
		{Form{Chars: "0-9a-f", Min: 2, Max: 2}, `\A[0-9a-f]{2}\z`},
		{Form{Chars: " -~", Max: 3}, `\A[ -~]{0,3}\z`},
		{Form{First: "A-Za-z0-9", Chars: "A-Za-z0-9._-", Min: 1, Max: 3}, `\A[A-Za-z0-9][A-Za-z0-9._-]{0,2}\z`},
		{Form{First: "A-Za-z_", Chars: "A-Za-z0-9_", Min: 1, Max: 3}, `\A[A-Za-z_][A-Za-z0-9_]{0,2}\z`},
		{Form{Chars: "A-Za-z0-9._+-", Min: 1, Max: 3}, `\A[A-Za-z0-9._+-]{1,3}\z`},
	}
	words := []string{"", "é", "é1", "a\n", "1é", "abcd", "....", "a-b-"}
	for c := range 256 {
		b := string([]byte{byte(c)})
		words = append(words, b, "a"+b, b+"a", b+b, "a"+b+"a", "a"+b+"\x00")
	}
	for _, f := range forms {
		same := regexp.MustCompile(f.same)
		for _, s := range words {
			if got, want := f.form.Matches(s), same.MatchString(s); got != want {
				t.Errorf("%+v matches %q: %v, want %v as %s", f.form, s, got, want, f.same)
			}
		}
	}
}

// TestContainer checks that there is one limit for the names of containers.
func TestContainer(t *testing.T) {
	for name, want := range map[string]bool{
		"web": true, "a": true, strings.Repeat("n", 201): true, strings.Repeat("n", 202): false, "": false, "-a": false, ".a": false, "a/b": false, "a\n": false,
	} {
		if got := Container.Matches(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
