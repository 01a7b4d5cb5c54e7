// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationLeaveRunning checks leave: true. Background processes of such commands stay when the session
// ends, in either way; others do not. If the watcher is killed, all of them end.
func TestIntegrationLeaveRunning(t *testing.T) {
	const text = `version: 1
commands:
  stays: {exec: /bin/sh, leave: true}
  goes: {exec: /bin/sh}
`
	forNewUsers(t, func(t *testing.T, h *Host) {
		ways := map[string]func(*Container){
			"stop":   func(c *Container) { h.Must(t, "hostexec", "stop", c.Session) },
			"rm -f":  func(c *Container) { h.Must(t, "rm", "-f", c.ID) },
			"killed": func(c *Container) { h.Watcher(t, c.Session).Signal(t, syscall.SIGKILL) },
		}
		for name, end := range ways {
			c := ruled(t, h, text, "--proxy", "stays", "--proxy", "goes")
			watcher, keeper := h.Watcher(t, c.Session), h.Keeper(t, c.Session)
			left := func(command string) *Proc {
				r := c.Exec(t, command, "-c", "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!")
				pid, err := strconv.Atoi(strings.TrimSpace(r.Out))
				if err != nil {
					t.Fatalf("%s: %v", command, r)
				}
				return hold(t, pid)
			}
			stays, goes := left("stays"), left("goes")
			call := c.Start(t, "stays", "-c", "echo $$; exec sleep 1000")
			runs := call.Host(t)
			end(c)
			allEnd(t, []*Proc{watcher, keeper, goes, runs}, grace)
			if name == "killed" {
				stays.Ends(t, grace)
				continue
			}
			want(t, name+": what was to stay is gone", stays.Gone(0), false)
			stays.Signal(t, syscall.SIGKILL)
		}
	})
}

// TestIntegrationRecord records the output of a command and replays it.
func TestIntegrationRecord(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, `version: 1
commands:
  rec:
    exec: /bin/sh
    record: true
    rules: [{do: allow, accept: host-code-execution, stdin: pipe, argv: [-c, 'cat; echo err >&2; tput clear; exit 3']}]
`)
		h.Env = append(h.Env, "TERM=xterm")
		r := c.Feed(t, "fed\n", "hostexec", "rec", "-c", "cat; echo err >&2; tput clear; exit 3")
		if r.Code != 3 || !strings.HasPrefix(r.Out, "fed\n") {
			t.Fatalf("recorded: %v", r)
		}
		files, err := filepath.Glob(filepath.Join(h.State, "recordings", "*"))
		check(t, err)
		if len(files) != 1 {
			t.Fatalf("recordings: %q", files)
		}
		fi, err := os.Stat(files[0])
		check(t, err)
		want(t, "mode", fi.Mode().Perm(), 0o600)
		id := filepath.Base(files[0])
		want(t, "COMPLETE of "+id, len(h.Audit(t, id, "HOSTEXEC COMPLETE", "exit=3")), 1)
		played := h.Must(t, "hostexec", "replay", "--speed", "100", id[:8])
		// Each stream is a pipe of its own: which of two that were written at once came first, nobody knows.
		if !strings.Contains(played, "fed\n") || !strings.Contains(played, "err\n") || strings.Contains(played, "\x1b") {
			t.Errorf("played: %q", played)
		}
		want(t, "replay of none", h.Docker(t, "hostexec", "replay", "../config.yaml").Code, 1)
	})
}

// TestIntegrationSHA256 changes a program after its sha256 was written down.
func TestIntegrationSHA256(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		script := "#!/bin/sh\necho pinned\n"
		prog := h.Write(t, h.Home, "prog", script, 0o755)
		sum := sha256.Sum256([]byte(script))
		pin := "{exec: " + prog + ", sha256: " + hex.EncodeToString(sum[:])
		c := ruled(t, h, "version: 1\ncommands:\n  ruled: "+pin+", rules: [{do: allow, effects: [read], argv: []}]}\n  whole: "+pin+"}\n  other: "+pin+"}\n",
			"--proxy", "whole", "--proxy", "other=/bin/true")
		for _, command := range []string{"ruled", "whole"} {
			want(t, command, c.Exec(t, "hostexec", command).Out, "pinned\n")
		}
		refused := func(command string) {
			t.Helper()
			if r := c.Exec(t, "hostexec", command); r.Code != 126 || r.Out != "" || !strings.Contains(r.Err, "not the program that the policy names by its sha256") {
				t.Errorf("%s: %v", command, r)
			}
		}
		refused("other")
		h.Write(t, h.Home, "prog", "#!/bin/sh\necho evil!!\n", 0o755) // of the same size
		refused("ruled")
		refused("whole")
		if r := h.Docker(t, "hostexec", "policy", "check"); r.Code != 1 || !strings.Contains(r.Out, "its sha256 differs from the configured one") {
			t.Errorf("policy check: %v", r)
		}
	})
}

// TestIntegrationGitDir uses the git preset in a real workspace. Commands that only read run
// without a question if .git is read-only in the container, and need one if it is writable.
//
// Attack 88.
func TestIntegrationGitDir(t *testing.T) {
	git := find(t, "git")
	forNewUsers(t, func(t *testing.T, h *Host) {
		repo := filepath.Join(h.Work, "repo")
		for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"}} {
			if r := h.feed(t, "", git, args...); r.Code != 0 {
				t.Fatalf("git %q: %v", args, r)
			}
		}
		h.Must(t, "hostexec", "policy", "init", "--write", "git")
		flags := []string{"--proxy", "git", "--workspace=" + repo}
		full, hold := image(t, "full"), []string{"/probe", "hold"}
		guarded := h.Detached(t, append(append(flags, "-v", repo+"/.git:"+repo+"/.git:ro", full), hold...)...)
		for _, args := range [][]string{{"log", "--oneline"}, {"status", "--short"}, {"diff"}} {
			if r := guarded.Exec(t, append([]string{"git"}, args...)...); r.Code != 0 || args[0] == "log" && !strings.HasSuffix(r.Out, " first\n") {
				t.Errorf("git %q: %v", args, r)
			}
		}
		if r := guarded.Exec(t, "git", "log", "--output=/tmp/x"); r.Code != 126 || !strings.Contains(r.Err, "no rule of git allows these arguments (nearest: log)") {
			t.Errorf("git log --output: %v", r)
		}
		if r := guarded.Exec(t, "git", "push", "origin", "main"); r.Code != 126 || !strings.Contains(r.Err, "nearest that a person is asked about: git push [-u | --set-upstream] origin /agent/") {
			t.Errorf("git push: %v", r)
		}
		open := h.Detached(t, append(append(flags, full), hold...)...)
		nobody := regexp.MustCompile(`^hostexec: git: nobody is there to ask`)
		for name, r := range map[string]Result{
			"with .git writable":  open.Exec(t, "git", "status"),
			"outside of the .git": guarded.Sh(t, "mkdir -p sub; cd sub; git status"),
		} {
			if r.Code != 126 || !nobody.MatchString(r.Err) {
				t.Errorf("git status %s: %v", name, r)
			}
		}
	})
}

// TestIntegrationAuditConfigured checks the log's settings: a copy for each container, redaction, and the file
// size.
func TestIntegrationAuditConfigured(t *testing.T) {
	forNewUsers(t, func(t *testing.T, h *Host) {
		c := ruled(t, h, `version: 1
approval: {auto_approve: ['^echo .*$']}
audit: {sync: always, per_container: true, redact: ['sk-[a-z0-9]+'], rotate: 2KiB, keep: 2}
`)
		name := strings.TrimPrefix(c.Inspect(t, "{{.Name}}"), "/")
		own := filepath.Join(h.State, "audit", name+".log")
		c.Exec(t, "hostexec", "echo", "sk-s3cret", "shown")
		global, err := os.ReadFile(filepath.Join(h.State, "audit.log"))
		check(t, err)
		copied, err := os.ReadFile(own)
		check(t, err)
		want(t, "the container's own log", string(copied), string(global))
		if strings.Contains(string(global), "s3cret") || strings.Count(string(global), `cmd="echo [redacted] shown" cmd_bytes=20 cmd_sha256=`) != 3 {
			t.Errorf("the log has %s", global)
		}
		for range 10 {
			c.Exec(t, "hostexec", "echo", "more")
		}
		for _, file := range []string{filepath.Join(h.State, "audit.log"), own} {
			for suffix, there := range map[string]bool{"": true, ".1": true, ".2": true, ".3": false} {
				fi, err := os.Stat(file + suffix)
				if (err == nil) != there || there && (fi.Mode().Perm() != 0o600 || fi.Size() > 2<<10) {
					t.Errorf("%s: %v, %v", file+suffix, fi, err)
				}
			}
		}
		if r := h.Docker(t, "hostexec", "audit", "verify"); r.Code != 0 || !strings.Contains(r.Out, "ok: ") {
			t.Errorf("verify: %v", r)
		}
	})
}
