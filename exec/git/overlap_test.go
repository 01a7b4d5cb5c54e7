// SPDX-License-Identifier: Apache-2.0

package git

import (
	"strings"
	"testing"
)

// TestOverlaps checks each kind of command, and options before the subcommand.
func TestOverlaps(t *testing.T) {
	for line, want := range map[string]Overlap{
		"git status": EntersSubmodules, "git diff --stat": EntersSubmodules, "git describe --dirty": EntersSubmodules,
		"git status --ignore-submodules=all": Independent, "git diff --ignore-submodules=all --ignore-submodules=none": EntersSubmodules,
		"git log -p": Independent, "git branch -a": Independent, "git fetch origin": Independent, "git push origin x": Independent,
		"git add f": Changes, "git commit -mx": Changes, "git config a.b c": Changes, "git branch x": Changes, "git stash": Changes, "git new": Changes,
		"git -c a.b=c --no-pager status": EntersSubmodules, "git --exec-path=x status": Changes, "git": Changes,
	} {
		if got := Overlaps(strings.Fields(line), false); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
