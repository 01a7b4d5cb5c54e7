// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// TestWrongCharacters checks that a refusal, and Explain, say that an argument has characters that no pattern of the
// rule matches. Without that, the pattern .+ seems to allow everything.
func TestWrongCharacters(t *testing.T) {
	wide := Element{Kind: KindRegexp, Pattern: argPattern(".+")}
	wide.Pattern.unicode = true
	options := Element{Kind: KindOptions, Opts: []Opt{{Name: "-m", Value: argPattern(".+")}, {Name: "--message", Value: argPattern(".+")}}}
	path := file(1, 1)
	const none = "no rule of x allows these arguments"
	for _, tt := range []struct {
		name string
		rule Rule
		args []string
		want string
	}{
		{"not ASCII", rule("r", Allow, re(".+")), []string{"\u00e9"}, none + ": argument 1 " + notASCII},
		{"not ASCII, later", rule("r", Allow, w("a"), several(".+", 0, 3)), []string{"a", "b", "\u00e9"}, none + " (nearest: r): argument 3 " + notASCII},
		{"does not match otherwise", rule("r", Allow, re("[a-z]+")), []string{"\u00e9"}, none},
		{"newline", rule("r", Allow, re(".+")), []string{"a\nb"}, none + ": argument 1 " + notPrintable},
		{"newline, unicode", rule("r", Allow, wide), []string{"a\nb"}, none + ": argument 1 " + notPrintable},
		{"not UTF-8", rule("r", Allow, wide), []string{"\xff"}, none + ": argument 1 " + notPrintable},
		{"path", rule("r", Allow, path), []string{"\u00e9"}, none + ": argument 1 " + pathNotASCII},
		{"value", rule("r", Allow, options), []string{"-m", "\u00e9"}, none + ": argument 2 " + notASCII},
		{"inline value", rule("r", Allow, options), []string{"--message=\u00e9"}, none + ": argument 1 " + notASCII},
		{"option", rule("r", Allow, re(".+")), []string{"-\u00e9"}, none},
		{"word", rule("r", Allow, w("a")), []string{"\u00e9"}, none},
		{"denial", rule("r", Deny, re(".+")), []string{"\u00e9"}, none},
		{"ASCII", rule("r", Allow, re("[a-z]+")), []string{"A"}, none},
		{"too few", rule("r", Allow, w("a"), re(".+")), []string{"a"}, none + " (nearest: r)"},
	} {
		p := &Policy{Rules: rules(tt.rule)}
		if v := decide(p, append([]string{"x"}, tt.args...)...); v.Reason != tt.want || v.Action != Deny {
			t.Errorf("%s: Decide = %v, %q, want %q", tt.name, v.Action, v.Reason, tt.want)
		}
	}
	p := &Policy{Rules: rules(rule("r", Allow, re(".+")))}
	want := `argument 1, $'\303\251', is not one that matches ".+"; argument 1 ` + notASCII
	if _, results := p.Explain(Request{Args: []string{"x", "\u00e9"}}); results[0].Why != want {
		t.Errorf("Explain = %q, want %q", results[0].Why, want)
	}
	both := &Policy{Rules: rules(rule("a", Allow, w("a")), rule("r", Allow, re(".+")))}
	if v := decide(both, "x", "\u00e9"); v.Reason != none+": argument 1 "+notASCII {
		t.Errorf("the second of two rules: %q", v.Reason)
	}
}
