// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	questions "github.com/docker-hostexec/hostexec/exec/approval"
	records "github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/verb"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// victim is a workspace with a repository, on a host whose user has a git configuration.
type victim struct {
	base, work, marker, evil string
	host                     *executor.Host
}

// newVictim makes a workspace with a commit, a changed file, and a submodule in lib.
func newVictim(t *testing.T) *victim {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{base: filepath.Join(base, "host")}
	v.work, v.marker, v.evil = filepath.Join(v.base, "work"), filepath.Join(v.base, "marker"), filepath.Join(v.base, "work", "evil")
	if v.host, err = executor.NewHost(slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.host.Close() })
	v.write(t, "home/.gitconfig", "[user]\n\tname = a\n\temail = a@b\n[protocol \"file\"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n[safe]\n\tdirectory = *\n")
	v.sh(t, v.base, `git init -q lib.git && cd lib.git && echo x >l && git add . && git commit -qm lib
		git init -q --bare ../origin.git && git init -q ../work && cd ../work
		echo one >f && git add f && git commit -qm first && echo two >f && git commit -qam second
		git remote add origin `+v.base+`/origin.git && git push -q origin main
		git submodule --quiet add `+v.base+`/lib.git lib && git commit -qm submodule && echo three >>f`)
	v.write(t, "work/README.md", "")
	v.write(t, "work/evil", "#!/bin/sh\n: >"+v.marker+"\nexit 1\n")
	if err := errors.Join(os.Chmod(v.evil, 0o755), os.CopyFS(filepath.Join(base, "first"), os.DirFS(v.base))); err != nil {
		t.Fatal(err)
	}
	return v
}

// reset restores the initial files.
func (v *victim) reset(t *testing.T) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(v.base), os.CopyFS(v.base, os.DirFS(filepath.Join(filepath.Dir(v.base), "first")))); err != nil {
		t.Fatal(err)
	}
}

func (v *victim) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(v.base, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (v *victim) environ() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(v.base, "home"), "GIT_TERMINAL_PROMPT=0"}
}

// sh runs a script. $EVIL is the program that writes the marker.
func (v *victim) sh(t *testing.T, in, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir, cmd.Env = in, append(v.environ(), "EVIL="+v.evil)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// fired reports whether the marker is there, and removes it.
func (v *victim) fired(t *testing.T) bool {
	t.Helper()
	err := os.Remove(v.marker)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// serve returns a session whose container has the workspace, with a read-only .git. There is no approver.
// If rules is not empty, it replaces the preset.
func (v *victim) serve(t *testing.T, rules string, mounts ...mount.Point) *call.Server {
	t.Helper()
	src := Source{Store: t.TempDir()}
	if rules != "" {
		if err := os.WriteFile(src.GlobalFile(), []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range Presets() {
		if p.Name == "git" && rules == "" {
			if err := p.Install(src.GlobalFile()); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := Load(src)
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	if mounts == nil {
		mounts = []mount.Point{{Target: "/w", Source: v.work, Bind: true}, {Target: "/w/.git", Source: v.work + "/.git", Bind: true, ReadOnly: true}}
	}
	dirs, err := mount.NewTable(mounts, mount.Default{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := records.Open(filepath.Join(t.TempDir(), "audit.log"), records.SessionInfo{}, records.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { errors.Join(log.Close(), dirs.Close()) })
	s := &call.Server{Verbs: verb.Verbs{}, Runner: v.host, Queue: &questions.Queue{}, Log: slog.New(slog.DiscardHandler), Environ: v.environ()}
	s.SetConfig(&call.SessionConfig{Audit: log, Dirs: dirs, Environ: v.environ(), Policy: c.Policy(nil)})
	return s
}

// run calls git as a container does. It returns the output and the exit message.
func run(t *testing.T, s *call.Server, cwd string, args ...string) (out string, exit wire.Exit) {
	t.Helper()
	return runWords(t, s, cwd, append([]string{"git"}, args...)...)
}

// runWords is run for all words of a call.
func runWords(t *testing.T, s *call.Server, cwd string, words ...string) (out string, exit wire.Exit) {
	t.Helper()
	ours, theirs := net.Pipe()
	var wg sync.WaitGroup
	// Ends when ours is closed.
	wg.Go(func() { s.Serve(context.Background(), context.Background(), theirs) })
	defer wg.Wait()
	defer ours.Close()
	msg := wire.Exec{FDs: [3]wire.FD{wire.FDNull, wire.FDFile, wire.FDFile}, Args: words, Cwd: cwd}
	if _, err := ours.Write(wire.AppendFrame(nil, wire.KindExec, msg.Append(nil))); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for {
		kind, p, err := wire.ReadFrame(ours, make([]byte, wire.MaxFrame))
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case wire.KindStdout, wire.KindStderr:
			b.Write(p)
			if _, err := ours.Write(wire.AppendFrame(nil, wire.KindCredit, wire.AppendCredit(nil, uint32(len(p))))); err != nil {
				t.Fatal(err)
			}
		case wire.KindExit:
			if exit, err = wire.ParseExit(p); err != nil {
				t.Fatal(err)
			}
			return b.String(), exit
		}
	}
}

// presetCalls has one or more calls for most rules of the preset.
var presetCalls = []string{"status", "status --short --branch", "log", "log --stat -n 2", "diff", "diff --cached", "diff --stat HEAD~1", "show", "show --stat HEAD~1",
	"branch -a -v", "fetch origin", "fetch --prune --tags origin", "push origin agent/x", "push -u origin agent/x"}

// moreCalls returns calls for the rules of the preset that presetCalls does not cover, from their tests.
func moreCalls(t *testing.T) (more [][]string) {
	t.Helper()
	p := everyPreset(t)
	decides := map[string]bool{}
	for _, args := range presetCalls {
		decides[p.Decide(policy.Request{Args: append([]string{"git"}, strings.Fields(args)...), GitDirReadOnly: true}).Rule] = true
	}
	for _, r := range p.Rules["git"].Rules {
		if !decides[r.Title("git")] {
			more = append(more, r.MustMatch...)
		}
	}
	return more
}
