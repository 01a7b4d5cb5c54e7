// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"regexp"
	"testing"
)

// TestMatches has each form say of words what the regular expression says that it stands for.
func TestMatches(t *testing.T) {
	forms := []struct {
		form Form
		same string
	}{
		{Form{}, `\A\z`},
		{Form{Of: "0-9a-f", Min: 2, Max: 2}, `\A[0-9a-f]{2}\z`},
		{Form{Of: " -~", Max: 3}, `\A[ -~]{0,3}\z`},
		{Form{First: "A-Za-z0-9", Of: "A-Za-z0-9._-", Min: 1, Max: 3}, `\A[A-Za-z0-9][A-Za-z0-9._-]{0,2}\z`},
		{Form{First: "A-Za-z_", Of: "A-Za-z0-9_", Min: 1, Max: 3}, `\A[A-Za-z_][A-Za-z0-9_]{0,2}\z`},
		{Form{Of: "A-Za-z0-9._+-", Min: 1, Max: 3}, `\A[A-Za-z0-9._+-]{1,3}\z`},
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
