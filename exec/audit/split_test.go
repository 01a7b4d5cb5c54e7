// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"testing"

	"al.essio.dev/pkg/shellescape"
)

func TestSplit(t *testing.T) {
	for _, args := range [][]string{
		{"make"}, {"sh", "-c", "echo 'a b' \"c\"; $x"}, {"git", "", " ", "'", `"`, `\`}, {"a\nb", "\xff\xfe", "it's", "'"}, {"x", ""},
	} {
		e := Entry{Command: shellescape.QuoteCommand(args)}
		if got, ok := e.Split(); !ok || !slices.Equal(got, args) {
			t.Errorf("%q is split into %q, %t", e.Command, got, ok)
		}
	}
	for _, e := range []Entry{{}, {Command: "make", SHA256: "00"}, {Command: "echo 'x"}} {
		if got, ok := e.Split(); ok {
			t.Errorf("%+v is split into %q", e, got)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a", "it's", "\x00\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		args := []string{a, b, c}
		if got, ok := (Entry{Command: shellescape.QuoteCommand(args)}).Split(); !ok || !slices.Equal(got, args) {
			t.Errorf("%q is split into %q", args, got)
		}
	})
}
