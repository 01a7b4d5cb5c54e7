// SPDX-License-Identifier: Apache-2.0

package osenv

import (
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	env := []string{"A=1", "AB=2", "A=3", "EMPTY=", "BARE", "X_1=4", "X_2=5"}
	for name, want := range map[string]string{"A": "1", "AB": "2", "EMPTY": "", "BARE": "", "MISSING": ""} {
		if got := Get(env, name); got != want {
			t.Errorf("Get(%s) = %q, want %q", name, got, want)
		}
	}
	given := slices.Clone(env)
	if got, want := Set(env, "A=9", "BARE=8"), []string{"AB=2", "EMPTY=", "X_1=4", "X_2=5", "A=9", "BARE=8"}; !slices.Equal(got, want) {
		t.Errorf("Set = %q, want %q", got, want)
	}
	if got, want := Without(env, "X_", "EMPTY="), []string{"A=1", "AB=2", "A=3", "BARE"}; !slices.Equal(got, want) {
		t.Errorf("Without = %q, want %q", got, want)
	}
	if !slices.Equal(env, given) {
		t.Errorf("the environment became %q", env)
	}
}

func TestDirs(t *testing.T) {
	if got, want := slices.Collect(Dirs("bin:/bin::.:/usr/bin:../x")), []string{"/bin", "/usr/bin"}; !slices.Equal(got, want) {
		t.Errorf("Dirs = %q, want %q", got, want)
	}
}
