// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/docker-hostexec/hostexec/exec/names"

// harmlessCommands contains commands that are known to be harmless with any arguments. They print information.
// They have no configuration in their working directory, no plugins, no pager and no editor. No
// option of theirs names a program to run.
var harmlessCommands = names.WordSet(`
	arch b2sum base32 base64 basename cal cat cksum comm cut date df dirname du echo expr factor false fold free
	getconf groups head hostid id join logname ls lsblk lscpu md5sum nl nproc numfmt od paste pathchk printf pwd
	readlink realpath rev seq sha1sum sha224sum sha256sum sha384sum sha512sum sleep stat sum tac tail test tr true
	tsort tty uname uptime users wc who whoami yes`)

// readers contains commands that print what is in the files of their arguments, or copy it.
var readers = names.WordSet(`
	b2sum base32 base64 cat cksum cmp comm cp cut diff egrep fgrep file fold grep gunzip gzip head join md5sum mv nl numfmt od
	paste rev sha1sum sha224sum sha256sum sha384sum sha512sum sort strings sum tac tail tsort uniq wc xxd zcat zgrep`)

// multiCall contains the multi-call programs: the name under which they start selects the command.
var multiCall = names.WordSet("busybox coreutils toybox uutils")

// families contains tools whose subcommands are separate programs: git-lfs, ansible-lint.
var families = names.WordSet("ansible cargo docker git jupyter mix nix npm npx rails vue")

// runsDirCode contains tools that run code from files in their working directory, with any arguments.
var runsDirCode = names.WordSet(`
	ant bake bazel bazelisk bjam bmake bsdmake buck buck2 buildah bundle bundler bun bunx cabal cake cargo carthage cmake
	ccmake cmake-gui colormake composer conan corepack cpack cpan cpanm ctest devbox devenv direnv dmake docker-compose
	dotenv dotenvx dotnet dune earthly flox gem gmake gn gnumake go gradle gradlew grunt gulp gyp hatch invoke inv jake jam just
	justfile kaniko ko lein leiningen lerna luarocks mage make makepp maturin meson mill mise mix msbuild mvn mvnd mvnw
	nake nerdctl nimble ninja nix nmake node-gyp nox npm npx nvm nx ocamlbuild opam pack pants paver pdm pip
	pipenv pipx please plz pmake pnpm pnpx pod podman-compose poe poetry premake qmake qbs rake rebar redo remake rtx
	rustc rustup rye samu samurai sbt scons shake shell skaffold spack stack swift swiftpm task tilt tito tox tsc turbo uv uvx
	vagrant volta volta-shim waf xbuild xcodebuild xmake xtask yarn yarnpkg zeus zig

	act air dagger depot fab fastlane foreman garden goreman hivemind honcho husky lefthook lint-staged
	modd nodemon overcommit overmind pm2 pre-commit prek reflex

	artillery ava bats behave busted c8 codecept codeception cram cucumber cypress ginkgo gotestsum
	green hspec jasmine jest karma k6 lit llvm-lit locust minitest mocha molecule nightwatch nose nosetests nyc pest
	phpunit playwright prove pybot py.test pytest richgo robot rspec runtest shellspec shelltest spec storybook tap tape
	testcafe testem trial tst vitest wdio

	astro babel clang-tidy commitlint credo depcruise detekt djlint eslint eslint_d
	flake8 golangci-lint golint gometalinter htmlhint jscs jshint ktlint markdownlint markdownlint-cli2
	mypy oxlint phan php-cs-fixer phpcbf phpcs phpmd phpstan prettier prettierd prospector psalm pylint pyre pyright
	reek remark rome rubocop scalafix scalafmt solhint sorbet spotless sqlfluff standard standardrb
	staticcheck stylelint svelte-check swiftformat swiftlint textlint tflint trunk tslint xo

	angular antora asciidoctor bridgetown capacitor cordova docusaurus doxygen eleventy electron electron-builder
	electron-forge elm esbuild expo flutter gatsby hexo hugo ionic jekyll latexmk lualatex metro middleman mkdocs ng
	next nuxt parcel pdflatex pub react-native remix rollup rspack snowpack sphinx-build svelte-kit tauri vite vue
	webpack wrangler xelatex

	amplify ansible artisan cap capistrano cdk cdk8s cdktf chef chef-client cinc-client copilot eb firebase
	fly flyctl helmfile inspec kitchen knife mina netlify packer puppet pulumi railway salt salt-call
	salt-ssh sam serverless sls sst tanka terragrunt terramate tk vercel waypoint

	alembic celery django-admin drush flask flyway gunicorn hypercorn knex liquibase manage.py prisma puma rackup rails
	sequelize streamlit symfony thin typeorm unicorn uvicorn wp

	brz bzr darcs fossil gitk gitui gt hg hub jj jupyter lazygit pijul repo sl tig`)

// scripts contains interpreters: they run script files and code in their arguments.
var scripts = names.WordSet(`
	amm ash awk babashka bash bb bpython clisp clj clojure crystal csh csi dart dash deno elixir elvish
	escript es expect fennel fish gawk gosh groovy guile hush hy ipython janet java jruby jshell julia kotlin kscript
	ksh lua luajit mawk micropython mksh moon nawk nim node nodejs nu octave octave-cli oil osascript osh perl perl6
	php php-fpm posh powershell psysh ptpython pwsh pypy python pythonw R raco racket raku rakudo rash rbash rc resty
	rscript Rscript ruby runghc runhaskell sash sbcl scala scala-cli sh swipl tcc tclsh tcsh truffleruby ts-node tsx
	utop wish xonsh yash ysh zsh`)

// commandLanguages contains programs with a command language of their own that can run shell commands.
var commandLanguages = names.WordSet(`
	busybox coreutils dc ed emacs emacsclient erl ex gdb ghci gnuplot irb iex jshell kak less lldb m4 micro more most
	mysql nano nvim ocaml pico poly pry psql sed sqlite3 toybox uutils vi view vim vimdiff`)

// wrappers contains commands that run another command.
var wrappers = names.WordSet(`
	aa-exec at aws-vault batch bwrap capsh ccache cgexec chamber choom chronic chroot chrt command crontab
	dbus-run-session direnv distcc distrobox-host-exec doas doppler dotenv dotenvx dumb-init eatmydata entr env
	envchain exec fakechroot fakeroot faketime find firejail flatpak-spawn flock gosu host-spawn hyperfine ifne
	infisical ionice linux32 linux64 ltrace mise ncat nice nohup nsenter numactl op parallel pee perf pkexec
	prlimit proot rlwrap rr rtx run-parts run0 runcon runuser scp screen script sem setarch setpriv setsid
	setuidgid sftp sg socat ssh ssh-agent sshpass stdbuf strace su su-exec sudo systemd-inhibit systemd-nspawn
	systemd-run taskset time timeout tini tmux torify torsocks unbuffer unshare valgrind watch watchexec xargs
	xvfb-run`)

// needsHost contains commands that need a unix socket, privileges or namespaces. A sandbox refuses these.
var needsHost = names.WordSet(`
	act at batch buildah chroot crontab dagger devbox devenv distrobox-host-exec doas docker-compose docker-buildx earthly
	fakeroot firejail flatpak-spawn gdb host-spawn kaniko lldb ltrace minikube nerdctl nix nsenter pkexec podman-compose
	proot run0 runuser scp screen sftp skaffold ssh sshpass strace su sudo systemd-run terragrunt tmux unshare vagrant`)

// repositoryTools contains the tools that run code from files in two cases only: repository hooks, and programs that
// the repository configuration names.
var repositoryTools = names.WordSet("brz bzr darcs fossil gh git gitk gitui gt hg hub jj lazygit pijul sl tig")

// engine holds the verbs of container engines that run no code from the workspace.
var engine = verbs{
	harmless: names.WordSet("compose/ls compose/version diff events history images info inspect logs port ps search stats top version"),
	// compose/ps reads the compose files of the directory, and fetches the files that they include
	// with git.
	other: names.WordSet(`attach compose/ps kill load login logout pause pull push rename restart rm rmi save start stop tag unpause update
		wait network system volume`),
}

// toolVerbs holds the tools of which only some verbs run code from files.
var toolVerbs = map[string]verbs{
	"docker": engine,
	"podman": engine,
	"gh": {
		harmless: names.WordSet(`auth/status cache/list issue/list issue/status issue/view label/list pr/checks pr/diff pr/list
			pr/status pr/view release/list release/view repo/list repo/view run/list run/view run/watch ruleset/list
			search secret/list status variable/list version workflow/list workflow/view`),
		other: names.WordSet(`api auth/token cache/delete issue/close issue/delete issue/lock issue/pin issue/reopen
			issue/transfer issue/unlock issue/unpin pr/close pr/lock pr/ready pr/reopen pr/unlock release/delete
			release/download run/cancel run/delete run/download run/rerun secret/delete secret/set variable/delete
			variable/set workflow/disable workflow/enable workflow/run`),
	},
	"terraform": {harmless: names.WordSet("fmt version")},
	"tofu":      {harmless: names.WordSet("fmt version")},
}

// pagerStarters contains programs that start a pager on a terminal. A pager can start a shell.
var pagerStarters = names.WordSet("git gh man less more most journalctl systemctl psql mysql vi vim nvim view aws bat delta kubectl helm ip")
