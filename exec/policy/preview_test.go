// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

func TestPreviewArgs(t *testing.T) {
	for args, want := range map[string]string{
		"make": "make -n -k", "make all": "make all -n -k", "rsync -a -- x y": "rsync -a -n -k -- x y", "x -- a -- b": "x -n -k -- a -- b", "-- a": "-- a -n -k",
	} {
		v := Verdict{Args: strings.Fields(args), Preview: []string{"-n", "-k"}}
		if got := strings.Join(v.PreviewArgs(), " "); got != want {
			t.Errorf("preview of %s: %s, want %s", args, got, want)
		}
		if got := strings.Join(v.Args, " "); got != args {
			t.Errorf("the call became %s", got)
		}
	}
}

// TestPreviewOfRule checks that the rule which decides also says how the preview runs.
func TestPreviewOfRule(t *testing.T) {
	r := rule("r", Ask, w("a"))
	r.Preview = []string{"-n"}
	p := &Policy{Rules: rules(r, rule("s", Ask, w("b")))}
	if v := decide(p, "x", "a"); len(v.Preview) != 1 || v.Preview[0] != "-n" {
		t.Errorf("Decide = %+v, want the preview of its rule", v)
	}
	if v := decide(p, "x", "b"); v.Preview != nil {
		t.Errorf("Decide = %+v, want no preview", v)
	}
}
