// SPDX-License-Identifier: Apache-2.0

package git

import (
	"strings"
	"testing"
)

// TestOverlaps checks each kind of command, and options before the subcommand.
func TestOverlaps(t *testing.T) {
	for line, want := range map[string]Overlap{
		"git status": Looks, "git diff --stat": Looks, "git describe --dirty": Looks,
		"git status --ignore-submodules=all": Beside, "git diff --ignore-submodules=all --ignore-submodules=none": Looks,
		"git log -p": Beside, "git branch -a": Beside, "git fetch origin": Beside, "git push origin x": Beside,
		"git add f": Changes, "git commit -mx": Changes, "git config a.b c": Changes, "git branch x": Changes, "git stash": Changes, "git new": Changes,
		"git -c a.b=c --no-pager status": Looks, "git --exec-path=x status": Changes, "git": Changes,
	} {
		if got := Overlaps(strings.Fields(line), false); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
