// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"os/exec"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// hostileTree is a script that puts code into a work tree for all tools of presets, and code that makes git run it.
const hostileTree = `for f in Makefile GNUmakefile; do printf 'all test check build:\n\t@./evil\n$(shell ./evil)\n' >$f; done
	printf 'module x\n' >go.mod; printf 'package x\nimport ("os/exec"; "testing")\nfunc TestX(*testing.T) { exec.Command("./evil").Run() }\n' >x_test.go
	printf '{"name": "x", "version": "1.0.0", "scripts": {"test": "./evil", "preinstall": "./evil"}}' >package.json; printf 'script-shell=./evil\ngit=./evil\n' >.npmrc
	printf 'data "external" "x" {\n  program = ["./evil"]\n}\n' >x.tf; printf 'FROM scratch\n' >Dockerfile; printf 'services: {x: {build: ., provider: {type: ./evil}}}\n' >compose.yaml
	for k in core.fsmonitor core.pager core.editor core.sshCommand core.askPass diff.external diff.x.command diff.x.textconv filter.x.clean filter.x.smudge filter.x.process \
		gpg.program credential.helper core.gitProxy remote.origin.uploadpack remote.origin.receivepack alias.x core.alternateRefsCommand trailer.x.command merge.x.driver; do git config $k $EVIL; done
	echo '* filter=x diff=x merge=x' >.gitattributes; cp .gitattributes .git/info/attributes; git config core.hooksPath $PWD/hooks; mkdir hooks
	for h in applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change post-merge post-rewrite pre-applypatch pre-auto-gc pre-commit \
		pre-merge-commit pre-push pre-rebase prepare-commit-msg push-to-checkout reference-transaction; do cp evil hooks/$h; cp evil .git/hooks/$h; done`

// TestPresetExecutions calls what each preset allows without a question, in a work tree with code for each tool. It
// repeats the calls with a read-only .git. No code may run outside of a sandbox. It prints the numbers.
//
// Attacks 88, 89.
func TestPresetExecutions(t *testing.T) {
	v := newVictim(t)
	v.sh(t, v.work, hostileTree)
	v.fired(t) // the script may run the program itself
	for _, preset := range Presets() {
		allowed, calls, ran := 0, 0, 0
		for _, readOnly := range []bool{true, false} {
			git := mount.Point{Target: "/w/.git", Source: v.work + "/.git", Bind: true, ReadOnly: readOnly}
			s := v.serve(t, preset.Text, mount.Point{Target: "/w", Source: v.work, Bind: true}, git)
			p := presetPolicy(t, preset)
			for name, set := range p.Rules {
				for _, r := range set.Rules {
					for _, args := range r.MustMatch {
						calls++
						if p.Decide(policy.Request{Args: append([]string{name}, args...), GitDirReadOnly: readOnly}).Action == policy.Allow {
							allowed++
						}
						if runWords(t, s, "/w", append([]string{name}, args...)...); v.fired(t) {
							ran++
							t.Errorf("preset %s: %s %q runs code of the work tree", preset.Name, name, args)
						}
					}
				}
			}
		}
		t.Logf("preset %s: %d calls, %d without a question, %d executions outside of a sandbox", preset.Name, calls, allowed, ran)
	}
	for _, plain := range []string{"make", "git status", "git diff", "git log -p"} {
		cmd := exec.Command("/bin/sh", "-c", plain)
		cmd.Dir, cmd.Env = v.work, v.environ() // not that of a make that runs this test: its jobs would be waited for
		if err := cmd.Run(); !v.fired(t) {
			t.Errorf("plain %s runs nothing, so this is not an attack: %v", plain, err)
		}
	}
}

// presetPolicy is the policy of one preset.
func presetPolicy(t *testing.T, preset Preset) *policy.Policy {
	t.Helper()
	src := Source{Store: t.TempDir()}
	if err := os.WriteFile(src.GlobalFile(), []byte(preset.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Load(src)
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	return c.Policy(nil)
}
