// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAddRemove(t *testing.T) {
	const text = `# the house rules
version: 1
commands:
  git: # of the host
    exec: /usr/bin/git
    gitdir: ro-mount
    rules:
      # look
      - {id: status, do: allow, argv: [status]} # often
`
	src := home(t, map[string]string{"state/config.yaml": text})
	file := src.GlobalFile()
	odd := []string{"git", "commit", "-m", "a: b # c\n\"yes\"", "1", "", "no"}
	title, err := Add(file, odd, policy.Rule{Do: policy.Ask})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Add(file, odd, policy.Rule{Do: policy.Ask}); err != nil || again != title {
		t.Errorf("added twice: %s, %v", again, err)
	}
	c := Load(src)
	if v := decide(c, odd...); v.Action != policy.Ask || v.Rule != title || len(c.rules["git"].Rules) != 2 {
		t.Errorf("%v by %s, want ask by %s (%v)", v.Action, v.Rule, title, c.Err)
	}
	for _, comment := range []string{"# the house rules", "# of the host", "# look", "# often"} {
		if !strings.Contains(read(t, file), comment) {
			t.Errorf("%s is missing:\n%s", comment, read(t, file))
		}
	}
	if fi, _ := os.Stat(file); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", fi.Mode())
	}
	if err := Remove(file, title); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file); got != text {
		t.Errorf("after add and rm:\n%s\nwant\n%s", got, text)
	}
	if err := Remove(file, title); !errors.Is(err, ErrNoRule) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestAddAgain adds a rule that the file has already. The file keeps its bytes, also its empty lines.
func TestAddAgain(t *testing.T) {
	src := home(t, nil)
	file, argv, rule := src.GlobalFile(), []string{"make", "test"}, policy.Rule{Do: policy.Allow}
	title, err := Add(file, argv, rule)
	if err != nil {
		t.Fatal(err)
	}
	spaced := "# mine\n\n\n" + read(t, file)
	if err := os.WriteFile(file, []byte(spaced), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := Add(file, argv, rule); err != nil || again != title || read(t, file) != spaced {
		t.Errorf("%s, %v:\n%s\nwant %s and\n%s", again, err, read(t, file), title, spaced)
	}
	for name, other := range map[string]policy.Rule{
		"effects": {Do: policy.Allow, Effects: []string{"read"}},
		"accept":  {Do: policy.Allow, Accept: true},
	} {
		if _, err := Add(file, argv, other); !errors.Is(err, ErrRuleDiffers) || read(t, file) != spaced {
			t.Errorf("with other %s: %v, want %v:\n%s", name, err, ErrRuleDiffers, read(t, file))
		}
	}
	// The id of a rule can be that of another one: by a change of the file, or by chance.
	for _, change := range []struct{ old, new string }{{"do: allow", "do: ask"}, {`"test"`, `"other"`}} {
		changed := strings.Replace(spaced, change.old, change.new, 1)
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Add(file, argv, rule); changed == spaced || !errors.Is(err, ErrRuleDiffers) || read(t, file) != changed {
			t.Errorf("%s: %v, want %v:\n%s", change.new, err, ErrRuleDiffers, read(t, file))
		}
	}
	two := []string{"gh", "x"}
	for _, effects := range [][]string{{"read", "network"}, {"network", "read", "network"}} {
		if _, err := Add(file, two, policy.Rule{Do: policy.Allow, Effects: effects}); err != nil {
			t.Errorf("effects %v: %v", effects, err)
		}
	}
}

// TestAddToNothing adds a rule without a file. Removing the rule removes its command too.
func TestAddToNothing(t *testing.T) {
	src := home(t, nil)
	title, err := Add(src.ProjectFile(), []string{"make", "test"}, policy.Rule{Do: policy.Allow, Effects: []string{"code", "read"}, Accept: true})
	if err != nil {
		t.Fatal(err)
	}
	if v := decide(Load(src), "make", "test"); v.Action != policy.Allow || !v.Grade.MayRunCode() || !slices.Equal(v.Effects, []string{"code", "read"}) {
		t.Errorf("%v, code %v", v.Action, v.Grade.MayRunCode())
	}
	if err := Remove(src.ProjectFile(), title); err != nil {
		t.Fatal(err)
	}
	if got := read(t, src.ProjectFile()); strings.Contains(got, "make") {
		t.Errorf("left:\n%s", got)
	}
	for _, argv := range [][]string{nil, {""}, {"../x"}, {"make", "\xff"}, {"make", "a\x00b"}} {
		if _, err := Add(src.GlobalFile(), argv, policy.Rule{Do: policy.Allow}); err == nil {
			t.Errorf("added %q", argv)
		}
	}
}

// TestRemoveUnnamed removes rules without ids by their numbers, each from its own file only.
func TestRemoveUnnamed(t *testing.T) {
	const text = "commands: {ls: {rules: [{do: allow, argv: [a]}, {do: allow, argv: [b]}]}}"
	src := home(t, map[string]string{"state/config.yaml": text, "state/projects/app.yaml": text})
	if err := Remove(src.ProjectFile(), "ls/#2"); !errors.Is(err, ErrNoRule) {
		t.Errorf("the global rule was removed from the project: %v", err)
	}
	if err := Remove(src.GlobalFile(), "ls/#2"); err != nil {
		t.Error(err)
	}
	if err := Remove(src.ProjectFile(), "ls/project#1"); err != nil {
		t.Error(err)
	}
	if a, b := decide(Load(src), "ls", "a"), decide(Load(src), "ls", "b"); a.Rule != "ls/#1" || b.Rule != "ls/project#1" {
		t.Errorf("left %s and %s", a.Rule, b.Rule)
	}
}

// TestEditRefuses checks that an invalid file is not changed.
func TestEditRefuses(t *testing.T) {
	for name, text := range map[string]string{"broken": "commands: [", "of another shape": "commands: [x]", "unknown key": "bogus: 1"} {
		src := home(t, map[string]string{"state/config.yaml": text})
		if _, err := Add(src.GlobalFile(), []string{"ls"}, policy.Rule{Do: policy.Allow}); err == nil {
			t.Errorf("%s: added", name)
		}
		if got := read(t, src.GlobalFile()); got != text {
			t.Errorf("%s: became %q", name, got)
		}
	}
}

func TestInstall(t *testing.T) {
	src := home(t, map[string]string{"state/config.yaml": "# mine\nversion: 1\ncommands:\n  ls: {rules: [{do: allow, argv: []}]}\n"})
	git, err := FindPreset("git")
	if err != nil {
		t.Fatal(err)
	}
	git = git.WithProgram(func(name string) (string, bool) { return "/opt/bin/" + name, true })
	if err := git.Install(src.GlobalFile()); err != nil {
		t.Fatal(err)
	}
	text := read(t, src.GlobalFile())
	for _, want := range []string{"# mine", "exec: /opt/bin/git", "# .git/config and hooks are programs."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if err := git.Install(src.GlobalFile()); err == nil || !strings.Contains(err.Error(), "commands.git is there already") {
		t.Errorf("installed twice: %v", err)
	}
	strict, _ := FindPreset("strict")
	write(t, src.ProjectFile(), "defaults: {tty: allow}\n")
	if err := strict.Install(src.ProjectFile()); err == nil || read(t, src.ProjectFile()) != "defaults: {tty: allow}\n" {
		t.Errorf("the preset replaced other defaults: %v", err)
	}
	if _, err := FindPreset("nope"); err == nil || !strings.Contains(err.Error(), "there are docker, gh, git, git-push, go") {
		t.Errorf("FindPreset(nope): %v", err)
	}
}

// TestPrograms checks that a program that other users could replace is refused.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	prog := filepath.Join(dir, "prog")
	write(t, prog, "#!/bin/sh\n")
	check := func(mode, dirMode os.FileMode, path string) error {
		if err := errors.Join(os.Chmod(prog, mode), os.Chmod(dir, dirMode)); err != nil {
			t.Fatal(err)
		}
		return checkProgram(path, "")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(prog, link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name          string
		mode, dirMode os.FileMode
		path          string
		want          string // a part of the error; empty: none
	}{
		{"fine", 0o755, 0o755, prog, ""},
		{"by a link", 0o755, 0o755, link, ""},
		{"writable", 0o757, 0o755, prog, prog + ": may be written by others: chmod go-w " + prog},
		{"in a writable directory", 0o755, 0o777, prog, dir + ": may be written by others: chmod go-w " + dir},
		{"in one, by a link", 0o755, 0o777, link, dir + ": may be written by others: chmod go-w " + dir},
		{"not executable", 0o644, 0o755, prog, "is not a program"},
		{"not there", 0o755, 0o755, prog + "x", "no such file"},
		{"a directory", 0o755, 0o755, dir, "is not a program"},
	} {
		if err := check(tt.mode, tt.dirMode, tt.path); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := check(0o755, 0o755, prog); err != nil {
		t.Fatal(err)
	}
	if err := checkProgram(prog, strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "sha256 differs") {
		t.Errorf("the digest of another program: %v", err)
	}
}

// TestEditsAtOnce checks that no change of a file is lost if several are made at the same time.
func TestEditsAtOnce(t *testing.T) {
	src := home(t, nil)
	var all sync.WaitGroup
	for i := range 20 {
		// ends with its change.
		all.Go(func() {
			if _, err := Add(src.GlobalFile(), []string{"git", "log", strconv.Itoa(i)}, policy.Rule{Do: policy.Ask}); err != nil {
				t.Errorf("rule %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if n := len(Load(src).rules["git"].Rules); n != 20 {
		t.Errorf("the file has %d of 20 rules", n)
	}
	change, err := AddLearned(src.GlobalFile(), learned(t, []string{"deploy", "a"}))
	if err != nil {
		t.Fatal(err)
	}
	var written atomic.Int32
	for range 20 {
		// ends with its change.
		all.Go(func() {
			err := change.Write()
			if err == nil {
				written.Add(1)
			} else if !errors.Is(err, ErrChanged) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := written.Load(); n != 1 {
		t.Errorf("%d of 20 equal changes were written", n)
	}
}
