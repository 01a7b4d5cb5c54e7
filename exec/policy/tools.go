// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"path"
	"slices"
	"strings"
)

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// builders run what stands in files of their working directory, whatever their arguments.
var builders = words(`
	ant bazel bundle bun cargo cmake composer dotnet gem go gradle gradlew grunt gulp just lerna mage make meson
	mvn mvnw ninja nix npm npx nx pip pip3 pipenv pnpm poetry pre-commit pytest rake rustc sbt scons shell swift task
	tox tsc turbo uv vagrant yarn zig docker-compose`)

// scripts run the files that they are given, and what their arguments say.
var scripts = words(`
	ash awk bash csh dash deno fish gawk groovy java julia ksh lua luajit mawk mksh nawk nim node nodejs octave perl
	php pwsh python R racket rscript ruby sh swipl tclsh zsh`)

// talkers run what they are told in a language of their own, shell commands among it.
var talkers = words(`
	busybox ed emacs erl ex gdb ghci irb iex jshell mysql nvim ocaml pry psql sed sqlite3 vi vim`)

// wrappers run another command.
var wrappers = words(`
	at batch chroot chrt command crontab doas distrobox-host-exec entr env exec fakeroot find firejail flatpak-spawn
	flock host-spawn ionice ltrace nice nohup nsenter parallel pkexec proot rlwrap run0 runuser screen script setarch
	setpriv setsid ssh stdbuf strace su sudo systemd-run taskset time timeout tmux unshare watch xargs xvfb-run`)

// codeVerbs run what stands in files too, but the other verbs of the same tool do not.
var codeVerbs = map[string]map[string]bool{
	"terraform": words("init plan apply destroy import refresh validate test console"),
	"tofu":      words("init plan apply destroy import refresh validate test console"),
	"docker":    words("build buildx builder bake compose run exec create container image stack plugin"),
	"podman":    words("build compose run exec create container image play kube"),
}

// pagers start one when they have a terminal, and a pager starts a shell.
var pagers = words("git gh man less more most journalctl systemctl psql mysql vi vim nvim view aws bat delta kubectl helm ip")

// tool returns what a command is known as: python3.11 is python.
func tool(name string) string {
	if short := strings.TrimRight(name, "0123456789."); short != "" {
		return strings.TrimRight(short, "-")
	}
	return name
}

// RunsCode reports whether the command runs code that it finds in files of its working
// directory. Git is one: hooks and configuration in .git are programs.
func RunsCode(name string) bool {
	t := tool(name)
	return builders[name] || builders[t] || scripts[t] || codeVerbs[t] != nil || t == "git"
}

// Interprets reports whether the command runs what its arguments say, so that two requests
// for it have nothing in common.
func Interprets(name string) bool {
	t := tool(name)
	return scripts[t] || talkers[t] || wrappers[t]
}

// code reports whether the command runs code that the container may have written, when its
// arguments are args. Those that the host fixed say nothing of the container's.
func (d *decision) code(args []string, fixed bool) bool {
	if d.place().Contained() {
		return false
	}
	for _, n := range []string{d.req.Args[0], path.Base(d.set.Exec), path.Base(d.c.Path)} {
		t := tool(n)
		switch {
		case t == "git":
			if d.set.GitDir != GitHost && !(d.set.GitDir == GitMount && d.req.GitDir) {
				return true
			}
		case builders[n] || builders[t] || !fixed && Interprets(n):
			return true
		case slices.ContainsFunc(args, in(codeVerbs[t])):
			return true
		}
	}
	return false
}
