// SPDX-License-Identifier: Apache-2.0

package http

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"al.essio.dev/pkg/shellescape"
)

// Attack 179.
func TestSplitWords(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{" \t\n", nil},
		{"make test", []string{"make", "test"}},
		{"  a   b\tc\n", []string{"a", "b", "c"}},
		{`a 'b c' "d e" f\ g`, []string{"a", "b c", "d e", "f g"}},
		{`'' ""`, []string{"", ""}},
		{`a''b"c"d`, []string{"abcd"}},
		{`"a\"b\\c\$d\` + "`" + `e\f"`, []string{"a\"b\\c$d`e\\f"}},
		{`'a\b'`, []string{`a\b`}},
		{"a\\\nb", []string{"ab"}},
		{"\"a\\\nb\"", []string{"ab"}},
		{`$HOME *.go ~ a|b; c & >d #e`, []string{"$HOME", "*.go", "~", "a|b;", "c", "&", ">d", "#e"}},
	} {
		if got, err := splitWords(tt.line); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("splitWords(%q) = %q, %v, want %q", tt.line, got, err, tt.want)
		}
	}
	for _, line := range []string{"'", `"`, `a "b`, `a \`, `"\"`, `'a\'b'`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("splitWords(%q) = %q, want an error", line, got)
		}
	}
}

// FuzzSplitWords splits quoted words and compares the result with the original words and with a
// shell's.
//
// Attack 179.
func FuzzSplitWords(f *testing.F) {
	f.Add("a\x01'b c'\x01\"", `a 'b' "c\d" \e`)
	f.Add(strings.Repeat("'", 60_000), strings.Repeat("'a' ", 40_000))
	sh := func(line string) (string, error) {
		cmd := exec.Command("sh")
		cmd.Stdin = strings.NewReader(`printf '%s\1' ` + line + "\n") // an argument has at most 128 KiB
		out, err := cmd.Output()
		return string(out), err
	}
	f.Fuzz(func(t *testing.T, joined, line string) {
		words := strings.Split(joined, "\x01")
		if got, err := splitWords(shellescape.QuoteCommand(words)); err != nil || !slices.Equal(got, words) {
			t.Errorf("%q came out as %q, %v", words, got, err)
		}
		if !strings.Contains(joined, "\x00") {
			if out, err := sh(shellescape.QuoteCommand(words)); err != nil || out != joined+"\x01" {
				t.Errorf("%q is %q to a shell, %v", words, out, err)
			}
		}
		if strings.Trim(line, `abc '"\`) != "" { // a shell interprets other characters
			return
		}
		got, err := splitWords(line)
		out, serr := sh("x " + line)
		if err != nil || serr != nil {
			return // for a shell, a backslash at the end continues the line
		}
		if want := strings.Split(strings.TrimSuffix(out, "\x01"), "\x01")[1:]; !slices.Equal(got, want) {
			t.Errorf("splitWords(%q) = %q, a shell has %q", line, got, want)
		}
	})
}
