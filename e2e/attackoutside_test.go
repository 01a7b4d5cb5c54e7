// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationAttackOutside asks the git preset, and an older form of its rules, for files of
// the host outside the workspace: by .., by --no-index, by links, and from a directory without a
// repository. No answer contains the secret, and usual commands work.
//
// Attack 63.
func TestIntegrationAttackOutside(t *testing.T) {
	git := find(t, "git")
	h := newHost(t, false)
	secret := h.Write(t, h.Home, "secret", "sesame\n", 0o600)
	repo := filepath.Join(h.Work, "repo")
	h.mkdir(t, filepath.Join(repo, "d"))
	h.Write(t, repo, "e", "of the repository\n", 0o644)
	for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "add", "e"}, {"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"}} {
		if r := h.feed(t, "", git, args...); r.Code != 0 {
			t.Fatalf("git %q: %v", args, r)
		}
	}
	h.Write(t, repo, "e", "changed\n", 0o644)
	check(t, os.Symlink(secret, filepath.Join(repo, "link")))
	check(t, os.Symlink(h.Home, filepath.Join(repo, "up")))
	up := "d/../../../secret"
	if r := h.feed(t, "", git, "-C", repo, "diff", "e", up); !strings.Contains(r.Out, "sesame") {
		t.Fatalf("git itself does not show it: %v", r)
	}
	h.Must(t, "hostexec", "policy", "init", "--write", "git")
	h.Must(t, "hostexec", "policy", "check")
	c := h.Detached(t, "--proxy", "git", "--workspace="+repo, "-v", repo+"/.git:"+repo+"/.git:ro", image(t, "full"), "/probe", "hold")
	attacks := func() {
		t.Helper()
		for _, line := range []string{
			"diff e " + up, "diff " + up + " e", "diff e " + secret, "diff e ~/secret", "diff --no-index e " + up, "diff e link", "diff e up/secret",
			"diff -- e " + up, "diff -- e " + secret, "diff -- e link", "diff -- e up/secret", "diff --stat -- e up", "diff e -- " + secret, "diff --cached -- e ../../secret",
			"diff e --no-index -- " + up, "show " + up, "show " + secret, "show :" + secret, "log -- " + secret, "log " + up, "log -n 1 -p -- link", "diff HEAD " + up,
		} {
			for _, cd := range []string{"", "cd d; ", "cd /tmp; "} {
				if r := c.Sh(t, cd+"timeout 20 hostexec -- git "+line); strings.Contains(r.Out+r.Err, "sesame") || r.Code == 0 {
					t.Errorf("%sgit %s: %v", cd, line, r)
				}
			}
		}
	}
	attacks()
	for line, out := range map[string]string{
		"status --short": " M e\n", "log --oneline -n 1": " first\n", "log --oneline HEAD -- e": " first\n", "diff --stat": "1 file changed", "diff HEAD": "+changed\n",
		"diff -- e": "+changed\n", "diff HEAD --name-only": "", "diff --name-only HEAD -- e d": "e\n", "show --stat HEAD": "first\n", "diff HEAD..HEAD": "", "branch": "*",
	} {
		r := c.Sh(t, "hostexec -- git "+line)
		if denied := line == "diff HEAD --name-only"; !strings.Contains(r.Out, out) || (r.Code != 0) != denied { // options come first
			t.Errorf("git %s: %v", line, r)
		}
	}

	old := "version: 1\ncommands:\n  git:\n    exec: " + git + "\n    gitdir: ro-mount\n    rules:\n" +
		"      - {id: diff, do: allow, effects: [read], argv: [diff, {args: '[A-Za-z0-9][A-Za-z0-9_./^~-]{0,100}', max: 2}], test: {no: [[-x]]}}\n"
	h.reconfigure(t, old)
	r := h.Docker(t, "hostexec", "policy", "check")
	want(t, "what check says of it", r.Code, 1)
	wantText(t, r.Out, `"[A-Za-z0-9][A-Za-z0-9_./^~-]{0,100}" matches a/.., a path outside of the workspace`)
	if r := c.Sh(t, "timeout 20 hostexec -- git diff e "+up); strings.Contains(r.Out, "sesame") || r.Code != 126 || !strings.Contains(r.Err, "nobody is there to ask") {
		t.Errorf("by an old rule: %v", r)
	}
	wantText(t, h.Must(t, "hostexec", "policy", "explain", "--", "git", "diff", "e", up), "ask by git/diff, which allows it, but argument 3 names a path outside of the workspace")
	h.reconfigure(t, strings.Replace(old, "do: allow", "do: allow, anywhere: true", 1))
	h.Must(t, "hostexec", "policy", "check")
	wantText(t, c.Sh(t, "hostexec -- git diff e "+up).Out, "sesame")
}
