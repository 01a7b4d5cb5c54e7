// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestGitMalicious uses repositories that run a program. It first runs plain commands that prove the
// attack, then each rule of the preset, in a container with a read-only .git.
//
// Attacks 88, 89, 225, 230, 236.
func TestGitMalicious(t *testing.T) {
	v, more := newVictim(t), moreCalls(t)
	for _, tt := range gitPoisons {
		t.Run(tt.name, func(t *testing.T) {
			v.reset(t)
			v.sh(t, v.work, tt.poison)
			v.fired(t) // the script may run the program itself
			for _, plain := range strings.Split(tt.plain, "|") {
				if plain == "" {
					continue
				}
				cmd := exec.Command("/bin/sh", "-c", plain+" </dev/null >/dev/null 2>&1")
				cmd.Dir, cmd.Env = filepath.Join(v.work, tt.cwd), append(v.environ(), "EVIL="+v.evil)
				cmd.Run()
				if !v.fired(t) {
					t.Errorf("plain %s runs nothing, so this is not an attack", plain)
				}
			}
			s := v.serve(t, "")
			for _, args := range more {
				if run(t, s, filepath.Join("/w", tt.cwd), args...); v.fired(t) {
					t.Errorf("git %q ran a program", args)
				}
			}
			for _, args := range presetCalls {
				out, exit := run(t, s, filepath.Join("/w", tt.cwd), strings.Fields(args)...)
				if v.fired(t) {
					t.Errorf("git %s ran a program", args)
				}
				asks := exit.Outcome == wire.Refused && strings.Contains(exit.Text, "nobody is there to ask")
				always := strings.HasPrefix(args, "push") || strings.HasPrefix(args, "fetch")
				switch {
				case asks != (tt.says != "" || always):
					t.Errorf("git %s: %+v, %s", args, exit, out)
				case !always && !strings.Contains(exit.Text, tt.says):
					t.Errorf("git %s asks with %q, want %q", args, exit.Text, tt.says)
				}
			}
		})
	}
}

// TestGitPresetStays checks that no command of the preset's rules descends into submodules.
//
// Attack 88.
func TestGitPresetStays(t *testing.T) {
	stays := map[string]string{"status": "--ignore-submodules=all", "log": "--ignore-submodules=all", "diff": "--ignore-submodules=all",
		"show": "--ignore-submodules=all", "fetch": "--no-recurse-submodules", "push": "--no-recurse-submodules"}
	p := everyPreset(t)
	var calls [][]string
	for _, c := range presetCalls {
		calls = append(calls, strings.Fields(c))
	}
	rules := map[string]bool{}
	for _, r := range p.Rules["git"].Rules {
		calls = append(calls, r.MustMatch...)
		rules[r.Title("git")] = true
	}
	for _, args := range calls {
		v := p.Decide(policy.Request{Args: append([]string{"git"}, args...), GitDirReadOnly: true})
		if opt := stays[args[0]]; opt != "" && !slices.Contains(v.Args, opt) {
			t.Errorf("git %q runs %q, without %s", args, v.Args, opt)
		}
		delete(rules, v.Rule)
	}
	if len(rules) > 0 {
		t.Errorf("the test has no call for %v", rules)
	}
}

// ownRules are rules of a user, without the precautions of the preset.
const ownRules = "version: 1\ncommands:\n  git:\n    exec: /usr/bin/git\n    gitdir: ro-mount\n    env: {clean: true}\n" +
	"    rules: [{id: all, do: allow, effects: [write, network], argv: [{re: '[a-z].*'}, {args: '[^/].*', min: 0, max: 9}], test: {no: [[-c]]}},\n" +
	"      {id: options, do: allow, effects: [write, network], argv: [{re: '[a-z].*'}, {flags: [--no-recurse-submodules, --ignore-submodules=all, -q, -mx, --submodule=diff]}, {args: '[^/-].*', max: 9}], test: {no: [[-c]]}}]\n"

// TestGitSubmodules checks rules that let git enter other repositories and run hooks.
//
// Attack 88.
func TestGitSubmodules(t *testing.T) {
	v := newVictim(t)
	readOnly := []mount.Point{{Target: "/w", Source: v.work, Bind: true, ReadOnly: true}}
	const none = "git rm -qf lib; git commit -qm none"
	for _, tt := range []struct {
		name, script string
		mounts       []mount.Point
		args, says   string // says is empty: the command runs
	}{
		{"a submodule", ``, nil, "status", "descends into the submodule lib"},
		{"a submodule, ignored", ``, nil, "status --ignore-submodules=all", ""},
		{"its difference", none, nil, "diff --submodule=diff", "may run in repositories below /w"},
		{"its difference by configuration", none + `; git config diff.submodule log`, nil, "log", "may run in repositories below /w"},
		{"a submodule whose directory is gone", `rm -rf lib`, nil, "status", "descends into the submodule lib"},
		{"no submodule", none, nil, "status", ""},
		{"no submodule, commit", none + `; git config user.name a; git config user.email a@b`, nil, "commit -q -mx f", ""},
		{"no submodule, another branch", none, nil, "checkout -q main", "may run in repositories below /w"},
		{"fetch", none, nil, "fetch origin", "may run in repositories below /w"},
		{"fetch of this alone", none, nil, "fetch --no-recurse-submodules origin", ""},
		{"push of this alone", none, nil, "push --no-recurse-submodules origin main", ""},
		{"a remote that is a directory", none + `; git remote rm origin; git init -q --bare origin`, nil, "push --no-recurse-submodules origin main", "has no remote origin"},
		{"a remote of a file", none + `; git remote rm origin; mkdir -p .git/remotes; echo "URL: $PWD/b" >.git/remotes/origin`, nil, "fetch --no-recurse-submodules", "addresses of remotes outside of"},
		{"all of it read-only", ``, readOnly, "status", ""},
		{"read-only, poisoned before", `git config -f .git/modules/lib/config core.editor $EVIL`, readOnly, "status", "sets core.editor"},
		{"read-only, a directory before", `rm lib/.git; git init -q lib; git -C lib config core.editor $EVIL`, readOnly, "status", "sets core.editor"},
		{"read-only, elsewhere", `git init -q ../x; rm lib/.git; echo gitdir: ../../x/.git >lib/.git`, readOnly, "status", "the repository of /w/lib is "},
		{"read-only, by a link", `git init -q ../x; rm lib/.git; ln -s ../../x/.git lib/.git`, readOnly, "status", "a link is on the way"},
		{"read-only, its directory by a link", `mv .git/modules/lib ../x; ln -s ../../../x .git/modules/lib`, readOnly, "status", "a link is on the way"},
		{"read-only, a hook in it", `cp $EVIL .git/modules/lib/hooks/pre-commit`, readOnly, "status", "hooks has pre-commit"},
		{"read-only, one in it", `cd lib; git submodule --quiet add "$(git remote get-url origin)" in; git commit -qm x; git config -f ../.git/modules/lib/modules/in/config core.editor $EVIL`, readOnly, "status", "sets core.editor"},
		{"read-only, too many", `for i in $(seq 40); do printf '160000 %s\tm%s\n' $(git -C lib rev-parse HEAD) $i; done | git update-index --index-info`, readOnly, "status", "more submodules than the 32"},
		{"a hook", none + `; cp $EVIL .git/hooks/post-index-change`, nil, "status", "hooks has post-index-change"},
		{"hooks in the work tree", none + `; mkdir h; git config core.hooksPath h`, nil, "status", "core.hooksPath is h, which the container can write"},
		{"the person's hooks in the work tree", none + `; git config --global core.hooksPath h`, nil, "status", "core.hooksPath is h, which the container can write"},
		{"the person's hooks", none + `; git config --global core.hooksPath ~/h`, nil, "status", ""},
		{"what the person includes", none + `; git config --global include.path ` + v.work + `/c`, nil, "status", "which the container can write"},
		{"a log that is a link", none + `; rm .git/logs/HEAD; ln -s ../../../home/x .git/logs/HEAD`, nil, "commit -q -mx f", ".git/logs/HEAD is a link"},
		{"a log that is a link, read", none + `; rm .git/logs/HEAD; ln -s ../../../home/x .git/logs/HEAD`, nil, "status", ""},
		{"objects that are fetched when they are missing", none + `; git config remote.origin.promisor true`, nil, "status", "fetches objects that are missing"},
		{"the same, by a filter", none + `; git config remote.origin.partialCloneFilter blob:none`, nil, "status", "fetches objects that are missing"},
		{"rebase", none, nil, "rebase main", "runs commands that the repository may hold"},
		{"an alias", none + `; git config alias.st status`, nil, "st", "sets alias.st"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v.reset(t)
			v.sh(t, v.work, tt.script)
			v.fired(t)
			out, exit := run(t, v.serve(t, ownRules, tt.mounts...), "/w", strings.Fields(tt.args)...)
			if v.fired(t) {
				t.Error("it ran a program")
			}
			if tt.says == "" && exit != (wire.Exit{Outcome: wire.Exited}) || tt.says != "" && (exit.Outcome != wire.Refused || !strings.Contains(exit.Text, tt.says)) {
				t.Errorf("git %s: %+v, %s; want %q", tt.args, exit, out, tt.says)
			}
		})
	}
}

// TestGitDirOfHost uses a repository of the host with a work tree of the container. The container controls the
// submodules as well.
//
// Attack 88.
func TestGitDirOfHost(t *testing.T) {
	v := newVictim(t)
	v.sh(t, v.work, `cp -r .git ../own; rm lib/.git; git init -q lib; git -C lib config core.fsmonitor $EVIL; echo y >lib/l; git -C lib add l`)
	rules := strings.Replace(ownRules, "gitdir: ro-mount", "gitdir: host\n    prepend: [--git-dir="+v.base+"/own, --work-tree=.]", 1)
	s := v.serve(t, rules, mount.Point{Target: "/w", Source: v.work, Bind: true})
	v.fired(t)
	if _, exit := run(t, s, "/w", "status"); exit.Outcome != wire.Refused || !strings.Contains(exit.Text, "descends into the submodule lib") || v.fired(t) {
		t.Errorf("git status: %+v", exit)
	}
	if _, exit := run(t, s, "/w", "status", "--ignore-submodules=all"); exit != (wire.Exit{Outcome: wire.Exited}) || v.fired(t) {
		t.Errorf("git status without submodules: %+v", exit)
	}
}

// TestGitOrdinary uses ordinary repositories. With the preset, all read-only commands run without a
// question.
func TestGitOrdinary(t *testing.T) {
	v := newVictim(t)
	for _, tt := range []struct{ name, script string }{
		{"with a submodule", ``},
		{"a clone by https", `git remote set-url origin https://github.com/a/b.git; git config remote.origin.gh-resolved base; git config branch.main.vscode-merge-base origin/main`},
		{"a clone by ssh", `git remote set-url origin git@github.com:a/b.git; git config branch.main.rebase true; git config pull.rebase true; git config push.default simple`},
		{"a partial clone", `git config core.repositoryFormatVersion 1; git config extensions.partialClone origin; git config remote.origin.promisor true; git config remote.origin.partialCloneFilter blob:none`},
		{"signed", `git config user.signingKey ~/.ssh/id.pub; git config gpg.format ssh; git config commit.gpgSign true; git config user.email x@y`},
		{"large files", `git config --global filter.lfs.clean 'git-lfs clean -- %f'; git config lfs.repositoryFormatVersion 0; git config lfs.https://github.com/a/b.git/info/lfs.access basic`},
		{"husky", `mkdir -p .husky/_; git config core.hooksPath .husky/_`},
		{"hooks of pre-commit", `cp $EVIL .git/hooks/pre-commit`},
		{"the person's identities", `git config --global includeIf.gitdir:~/.path ~/id; git config -f ~/id core.sshCommand "ssh -i x"; git config --global credential.helper store; git config --global core.editor vi`},
		{"an alias", `git config alias.lg 'log --oneline'`},
		{"sparse", `git sparse-checkout set --no-cone f`},
		{"packed", `git gc -q`},
		{"in the middle of a merge", `git branch x HEAD~1; git stash -q; git merge -q --no-ff --no-commit x || :`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v.reset(t)
			v.sh(t, v.work, tt.script)
			s := v.serve(t, "")
			for _, args := range presetCalls {
				if strings.HasPrefix(args, "push") || strings.HasPrefix(args, "fetch") {
					continue
				}
				if out, exit := run(t, s, "/w", strings.Fields(args)...); exit != (wire.Exit{Outcome: wire.Exited}) {
					t.Errorf("git %s: %+v, %s", args, exit, out)
				}
			}
		})
	}
}

// TestGitPersonsFilter lets .gitattributes choose the files for a filter of the user's own
// configuration. The filter runs, because it belongs to the host.
func TestGitPersonsFilter(t *testing.T) {
	v := newVictim(t)
	// git status filters a file whose time has changed, but not its size.
	v.sh(t, v.work, `git checkout -q f; git config --global filter.own.clean "touch $HOME/own; cat"; echo '* filter=own' >.gitattributes; touch -d yesterday f`)
	if _, exit := run(t, v.serve(t, ""), "/w", "status"); exit != (wire.Exit{Outcome: wire.Exited}) {
		t.Errorf("git status: %+v", exit)
	}
	if _, err := os.Stat(filepath.Join(v.base, "home", "own")); err != nil {
		t.Errorf("the person's own filter: %v", err)
	}
}

// TestGitLookEnvironment sets a variable that names code of the container. Commands do not get that
// variable. The git process that inspects the repository first must not get it either.
//
// Attack 62.
func TestGitLookEnvironment(t *testing.T) {
	v := newVictim(t)
	s := v.serve(t, strings.Replace(ownRules, "    env: {clean: true}\n", "", 1))
	s.Environ = append(s.Environ, "GIT_TRACE="+v.marker) // as LD_PRELOAD would, without a library
	if _, exit := run(t, s, "/w", "status", "--ignore-submodules=all"); exit != (wire.Exit{Outcome: wire.Exited}) {
		t.Errorf("git status: %+v", exit)
	}
	if v.fired(t) {
		t.Error("the inspecting git has the variable that commands do not get")
	}
}
