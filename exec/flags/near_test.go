// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"io"
	"testing"

	"github.com/spf13/pflag"
)

func TestNear(t *testing.T) {
	for typed, want := range map[string]string{
		"--porxy": "--proxy", "--porxy=make": "--proxy", "--anyuser": "--any-user", "--prox": "--proxy",
		"--bogus": "", "--secre": "", "-p": "", "--proxy": "",
	} {
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		set.SetOutput(io.Discard)
		set.String("proxy", "", "")
		set.Bool("any-user", false, "")
		set.Bool("secret", false, "")
		if err := set.MarkHidden("secret"); err != nil {
			t.Fatal(err)
		}
		if got := Near(set, set.Parse([]string{typed})); got != want {
			t.Errorf("Near of %s = %q, want %q", typed, got, want)
		}
	}
}
