// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gitWorkspace makes a repository with a submodule in lib, and a program evil that leaves a
// marker, and returns the repository and the marker's path.
func gitWorkspace(t *testing.T, h *Host) (repo, marker string) {
	t.Helper()
	repo, marker = filepath.Join(h.Work, "repo"), filepath.Join(h.Home, "marker")
	script := `git() { command git -c user.name=a -c user.email=a@b -c protocol.file.allow=always "$@"; }
		git init -q lib.git; cd lib.git; echo l >l; git add l; git commit -qm lib
		git init -q ../repo; cd ../repo; echo f >f; git add f; git commit -qm first
		git submodule --quiet add ` + h.Work + `/lib.git lib; git commit -qm second
		printf '#!/bin/sh\n: >` + marker + `\n' >evil; chmod 755 evil; chmod -R a+rwX .`
	if r := h.feed(t, "", "/bin/sh", "-ec", script); r.Code != 0 {
		t.Fatalf("make a repository: %v", r)
	}
	return repo, marker
}

// TestIntegrationAttackGitSubmodule replaces a submodule's repository by one of the container's
// while .git is read-only. Git on the host runs nothing of it.
//
// Attacks 88, 89.
func TestIntegrationAttackGitSubmodule(t *testing.T) {
	h, _ := hostWithCanary(t)
	repo, marker := gitWorkspace(t, h)
	h.Must(t, "hostexec", "policy", "init", "--write", "git")
	c := h.Detached(t, "--proxy", "git", "-v", repo+":/w", "-v", repo+"/.git:/w/.git:ro", "-w", "/w", image(t, "full"), "/probe", "hold")
	calls := []string{"status", "status --short", "log --stat", "diff", "diff HEAD~1", "show --stat", "branch -a -v"}
	unasked := func(name string) {
		t.Helper()
		for _, args := range calls {
			if r := c.Exec(t, append([]string{"git"}, strings.Fields(args)...)...); r.Code != 0 {
				t.Errorf("%s: git %s: %v", name, args, r)
			}
			if _, err := os.Lstat(marker); err == nil {
				t.Fatalf("%s: git %s ran the container's program", name, args)
			}
		}
	}
	unasked("an honest submodule")
	if r := c.Sh(t, `cp -r .git/modules/lib lib/own && rm lib/.git && mv lib/own lib/.git && printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = `+repo+`/evil\n' >lib/.git/config; echo x >>lib/l`); r.Code != 0 {
		t.Fatalf("poison: %v", r)
	}
	unasked("a submodule of the container's")
	// By itself it does run.
	if h.feed(t, "", "/bin/sh", "-c", "cd "+repo+" && git status"); os.Remove(marker) != nil {
		t.Error("plain git status runs nothing: this is no attack")
	}
	// Nor where the call is made in a repository of the container's.
	for name, script := range map[string]string{
		"the submodule": "cd lib; git status",
		"a bare one":    `mkdir -p bare/objects bare/refs; cd bare; cp ../.git/HEAD ../.git/index .; printf '[core]\n\tworktree = .\n\tfsmonitor = ` + repo + `/evil\n' >config; git status`,
		"below a bare":  "mkdir -p bare/refs; cd bare/refs; git status",
		"a file":        "mkdir by; cd by; echo 'gitdir: ../lib/.git' >.git; git status",
		"below .git":    "mkdir deep; cd deep; git status",
	} {
		r := c.Sh(t, script)
		if _, err := os.Lstat(marker); err == nil || r.Code != 126 {
			t.Errorf("in %s: %v, %v", name, r, err)
		}
	}
}

// TestIntegrationAttackGitPrepared writes .git in one container before another container mounts it
// read-only.
//
// Attack 88.
func TestIntegrationAttackGitPrepared(t *testing.T) {
	h, _ := hostWithCanary(t)
	repo, marker := gitWorkspace(t, h)
	h.Must(t, "hostexec", "policy", "init", "--write", "git")
	first := h.Detached(t, "-v", repo+":/w", "-w", "/w", image(t, "full"), "/probe", "hold")
	if r := first.Sh(t, `printf '[core]\n\tfsmonitor = `+repo+`/evil\n[diff]\n\texternal = `+repo+`/evil\n' >>.git/config; echo x >>f`); r.Code != 0 {
		t.Fatalf("poison: %v", r)
	}
	first.removed(t) // while it is there, it can write .git, and every call is asked about for that
	c := h.Detached(t, "--proxy", "git", "-v", repo+":/w", "-v", repo+"/.git:/w/.git:ro", "-w", "/w", image(t, "full"), "/probe", "hold")
	for _, args := range []string{"status", "log", "diff", "show", "branch"} {
		r := c.Exec(t, "git", args)
		if _, err := os.Lstat(marker); err == nil {
			t.Fatalf("git %s ran the container's program", args)
		}
		if r.Code != 126 || !strings.Contains(r.Err, "it asks because "+repo+"/.git/config sets diff.external") {
			t.Errorf("git %s: %v", args, r)
		}
	}
	if h.feed(t, "", "/bin/sh", "-c", "cd "+repo+" && git diff"); os.Remove(marker) != nil {
		t.Error("plain git diff runs nothing: this is no attack")
	}
	if r := h.feed(t, "", "/bin/sh", "-ec", "cd "+repo+"; git config --unset core.fsmonitor; git config --unset diff.external"); r.Code != 0 {
		t.Fatalf("clean: %v", r)
	}
	if r := c.Exec(t, "git", "status"); r.Code != 0 {
		t.Errorf("after it was cleaned: %v", r)
	}
}
