// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// caseFolding mounts what is in a directory where names are the same in upper and lower case,
// at a directory of the person's, and returns that.
func (h *Host) caseFolding(t *testing.T, from string) string {
	t.Helper()
	at := filepath.Join(h.Home, "fold")
	h.mkdir(t, at)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, probePath(t), "fuse", from, at)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		unix.Unmount(at, unix.MNT_DETACH)
		cancel()
		cmd.Wait()
	})
	var line [6]byte
	_, err = out.Read(line[:])
	check(t, err)
	return at
}

// TestIntegrationAttackCaseFolding checks that other spellings of a name do not help on a file
// system that ignores case: neither a read-only .git nor a program can be written by one.
//
// Attack 91.
func TestIntegrationAttackCaseFolding(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("only root can mount a file system: run the integration tests as root, or leave this one out by name")
	}
	h, canary := hostWithCanary(t)
	from := filepath.Join(h.Home, "from")
	for _, d := range []string{from, from + "/Repo", from + "/Repo/.git", from + "/Repo/.git/hooks", from + "/Bin", from + "/Other", from + "/Other/.git"} {
		h.mkdir(t, d)
	}
	h.Write(t, from+"/Repo/.git", "mark", "good\n", 0o644)
	h.Write(t, from+"/Other/.git", "mark", "EVIL\n", 0o644)
	h.Write(t, from+"/Bin", "tool", "#!/bin/sh\ncat "+canary+"\n", 0o755)
	real := find(t, "git")
	for _, name := range []string{"Repo", "Other"} {
		if r := h.feed(t, "", real, "init", "-q", "--template=", filepath.Join(from, name)); r.Code != 0 {
			t.Fatalf("git init: %v", r)
		}
	}
	fold := h.caseFolding(t, from)
	want(t, "another spelling", string(readFile(t, fold+"/rePO/.GIT/Mark")), "good\n")

	git := h.Write(t, h.Home, "git", "#!/bin/sh\ncase $* in *status) cat .git/mark;; *) exec "+real+" \"$@\";; esac\n", 0o755)
	h.Write(t, h.State, "config.yaml", "version: 1\ncommands:\n  git:\n    exec: "+git+"\n    gitdir: ro-mount\n    rules: [{id: s, do: allow, effects: [read], argv: [status]}]\n", 0o600)
	start := func(mounts ...string) *Container {
		args := []string{"-v", fold + "/Repo:/w", "-w", "/w"}
		for _, m := range mounts {
			args = append(args, "-v", fold+m)
		}
		return h.Detached(t, append(args, image(t, "full"), "/probe", "hold")...)
	}
	for i, name := range []string{".git", ".GIT", ".Git"} { // whichever the person has typed
		c := start("/Repo/" + name + ":/w/.git:ro")
		if i == 0 {
			want(t, "git status", c.Exec(t, "timeout", "20", "hostexec", "git", "status").Out, "good\n")
		}
		for _, other := range []string{"/w/.git", "/w/.GIT", "/w/.gIt"} {
			if r := c.Sh(t, `echo EVIL > "$1/hooks/x"; rmdir "$1"`, other); strings.Count(r.Err, "\n") != 2 || !strings.Contains(r.Err, "Read-only file system\n") || !strings.Contains(r.Err, "busy\n") {
				t.Errorf("%s, mounted as %s: %v", other, name, r)
			}
		}
		if r := c.Exec(t, "timeout", "20", "hostexec", "git", "status"); r.Out != "good\n" && r.Code != 126 { // refused where it is not certain
			t.Errorf("git status over %s: %v", name, r)
		}
	}
	for name, mounts := range map[string][]string{
		"the repository twice":   {"/Repo/.git:/w/.git:ro", "/rEPO:/again"},
		"its hooks elsewhere":    {"/Repo/.git:/w/.git:ro", "/REPO/.GIT/HOOKS:/hooks"},
		"all of it, differently": {"/Repo/.git:/w/.git:ro", "/REPO/.GIT:/again"},
	} {
		if r := start(mounts...).Exec(t, "timeout", "20", "hostexec", "git", "status"); r.Out != "" || r.Code != 126 {
			t.Errorf("%s: %v", name, r)
		}
	}
	for mount, writable := range map[string]bool{"/bIN": true, "/Bin": true, "/Repo": false} {
		for _, spelled := range []string{"/Bin/tool", "/BIN/tool", "/bin/TOOL"} {
			h.Write(t, h.State, "config.yaml", "version: 1\ncommands:\n  tool:\n    exec: "+fold+spelled+"\n    rules: [{id: r, do: allow, effects: [read], argv: [now]}]\n", 0o600)
			r := h.Run(t, "--rm", "-v", fold+mount+":/b", "-v", h.Work+":/w", "-w", "/w", image(t, "full"), "hostexec", "tool", "now")
			if writable && (r.Out != "" || !strings.Contains(r.Err, "could change")) || !writable && r.Out != "sings\n" {
				t.Errorf("%s, with %s mounted: %v", spelled, mount, r)
			}
		}
	}
}
