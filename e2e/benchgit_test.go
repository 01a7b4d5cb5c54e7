// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
	"time"
)

// gitPush measures a push through the host against the same push by the host's own git to the same repository. They take
// turns. Each pushes one commit to a new branch.
func (b *bench) gitPush(t *testing.T) {
	const rounds = 15
	remote := gitHost(t, b.host) // the preset permits agent/*
	c := gitContainer(t, b.host)
	b.clock(t, "git", "clone", "-q", remote, b.host.Home+"/own")
	var direct, through []int64
	for i := range rounds + 1 {
		script := `git -c user.name=a -c user.email=a@b commit -q --allow-empty -m more; TIMEFORMAT=%R; time git push -q origin HEAD:agent/`
		own := pushTime(t, b.host.feed(t, "", "bash", "-ec", "cd ~/own; "+script+"own"+itoa(i)))
		with := pushTime(t, c.Sh(t, "cd /w/c; "+script+"with"+itoa(i)))
		if i > 0 { // the first ones warm
			direct, through = append(direct, own), append(through, with)
		}
	}
	times := quantile(through, 0.5) / quantile(direct, 0.5)
	b.row("`git push` of a commit by the host's git, p50", millis(quantile(direct, 0.5)), "", true)
	b.row("the same in a container by `git-push`, p50, as a multiple of it", ratio(times), "", true)
}

// pushTime returns the time that bash has measured, in nanoseconds.
func pushTime(t *testing.T, r Result) int64 {
	t.Helper()
	took, err := time.ParseDuration(strings.TrimSpace(r.Err) + "s")
	if r.Code != 0 || err != nil {
		t.Fatalf("push: %v", r)
	}
	return took.Nanoseconds()
}
