// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"slices"
	"strings"
	"testing"
)

// FuzzWords wants words to say exactly what they were made of.
func FuzzWords(f *testing.F) {
	f.Add("A=1\nB=2", "--env=x", "/w", "make test")
	f.Add("", "", "", "--env")
	f.Add("", "A=--cwd", "--env", "")
	f.Fuzz(func(t *testing.T, created, env, dir, text string) {
		c := Command{Text: text, Dir: dir, Env: split(env)}
		words := c.Words(split(created))
		got, gotEnv, err := ParseWords(words)
		if err != nil || got.Text != text || got.Dir != dir || !slices.Equal(got.Env, c.Env) || !slices.Equal(gotEnv, split(created)) {
			t.Errorf("ParseWords(%q) = %+v, %q, %v", words, got, gotEnv, err)
		}
		raw := append(split(env), text)
		if got, gotEnv, err := ParseWords(raw); err == nil && got.Text != text {
			t.Errorf("ParseWords(%q) = %+v, %q", raw, got, gotEnv)
		}
	})
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
