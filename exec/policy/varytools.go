// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/docker-hostexec/hostexec/exec/names"

// plainCommands contains commands all of whose arguments are options, names of files, numbers or texts. No option of
// theirs names a program to run.
var plainCommands = names.WordSet(`
	chgrp chmod chown cmp cp diff egrep fgrep file gofmt grep gunzip gzip ln mkdir mkfifo mv rm rmdir tee touch truncate zcat`)

// toolsWithVerbs contains further tools whose first arguments choose what they do.
var toolsWithVerbs = names.WordSet(`
	apk apt apt-get aws az brew conda dnf docker doctl flatpak gcloud gh glab helm hub kind kubectl launchctl minikube
	multipass nmcli oc openssl pacman podman poetry rc-service resolvectl service snap svn systemctl tea terraform tofu
	virsh yum zypper`)

// commandVerbs contains the verbs of subcommands whose positional arguments are a command.
var commandVerbs = names.WordSet("debug exec rsh run shell ssh")

// targetRunners contains tools whose arguments name what they run: targets, tasks and scripts.
var targetRunners = names.WordSet(`
	ant bake bazel bazelisk bmake bsdmake buck buck2 bun bundle bunx colormake corepack dmake dune foreman gmake gnumake
	gradle gradlew grunt gulp hatch hivemind honcho inv invoke jake just lein make makepp meson mix mvn mvnd mvnw nake ninja nmake
	nox npm npx nx overmind pdm pipenv pipx pmake pnpm pnpx poe rake redo remake rye samu sbt scons shake task tox turbo
	uv uvx volta waf xmake xtask yarn yarnpkg`)

// toolsWithoutVerbs contains tools that run code of the workspace and have no subcommands.
var toolsWithoutVerbs = names.WordSet(`
	asciidoctor ava bats black busted clang-tidy cypress doxygen eslint eslint_d flake8 gcc golint jasmine jest latexmk
	lualatex markdownlint mocha mypy nose nosetests nyc pdflatex phpunit prettier prettierd prove py.test pylint pyright pytest
	robot rspec rubocop rustc shellspec standard staticcheck stylelint textlint tsc vitest xelatex`)

// gitPlainVerbs contains the verbs of git without verbs of their own.
var gitPlainVerbs = names.WordSet(`
	add annotate archive blame branch cat-file check-ignore checkout cherry-pick clean commit diff fetch grep log
	ls-files merge mv pull push reset restore revert rm shortlog show stage status switch tag`)

// gitPathVerbs contains the verbs of git whose positional arguments all are paths.
var gitPathVerbs = names.WordSet("add check-ignore clean ls-files mv restore rm stage status")

// gitCodeVerbs contains the verbs of git whose positional arguments are commands, or configuration that names some.
var gitCodeVerbs = names.WordSet("bisect config credential difftool filter-branch hook lfs mergetool p4 rebase remote submodule svn")

// gitOptions contains the options before a verb of git, and the number of their values.
var gitOptions = map[string]int{
	"-C": 1, "-c": 1, "--git-dir": 1, "--work-tree": 1, "--namespace": 1, "--config-env": 1, "--no-pager": 0, "-P": 0,
	"--bare": 0, "--no-replace-objects": 0, "--literal-pathspecs": 0, "--no-optional-locks": 0, "--no-advice": 0,
}

// codeLetters contains the letters of short options that take code, programs or configuration in some command. An
// option is checked by its first and by its last letter, because letters may be bundled.
const codeLetters = "cCeEfFIKlLmoOpPrRSTuUxXW"

// codeOptions contains parts of the names of such options.
var codeOptions = []string{
	"action", "askpass", "browser", "cmd", "code", "command", "conf", "defaults", "driver", "editor", "engine", "env", "eval",
	"exec", "ext", "filter", "from-file",
	"handler", "helper", "hook", "import", "include", "init", "lib", "load", "module", "option", "pack", "pager", "path",
	"plugin", "prelude", "preset", "preview", "profile", "program", "proxy", "rc", "require", "rsh", "rule", "run", "script", "set",
	"shell", "template", "wrapper",
}
