// SPDX-License-Identifier: Apache-2.0

package config

// gitPoisons are repositories and work trees that run a program. If plain is empty, the commands that run
// it need a terminal or a server, and the test checks only the judgement of the configuration.
var gitPoisons = []struct {
	name   string
	poison string // a script that runs in the work tree before .git becomes read-only
	plain  string // commands that run the program, each by itself
	says   string // part of the question that the preset's allow rules become; empty: they run without the program
	cwd    string // relative to the work tree
}{
	// Configuration keys.
	{"fsmonitor", `git config core.fsmonitor $EVIL`, "git status|git diff", "", ""},
	{"ssh", `git config core.sshCommand $EVIL; git config remote.origin.url ssh://x/y`, "git fetch", "sets core.sshcommand", ""},
	{"ext", `git config protocol.ext.allow always; git config remote.origin.url "ext::$EVIL"`, "git fetch", "sets ", ""},
	{"upload pack", `git config remote.origin.uploadpack $EVIL`, "git fetch origin", "sets remote.origin.uploadpack", ""},
	{"receive pack", `git config remote.origin.receivepack $EVIL`, "git push origin HEAD:x", "sets remote.origin.receivepack", ""},
	{"remote helper", `git config remote.origin.vcs ext; git config protocol.ext.allow always; git config remote.origin.url "$EVIL"`, "git fetch origin", "sets ", ""},
	{"push address", `git config remote.origin.pushurl "ext::$EVIL"; git config protocol.ext.allow always`, "git push origin HEAD:x", "sets ", ""},
	{"instead of", `git config "url.ext::$EVIL .insteadOf" https://; git config protocol.ext.allow always; git config remote.origin.url https://x`, "git fetch", "sets ", ""},
	{"git proxy", `git config core.gitProxy $EVIL; git config remote.origin.url git://x/y`, "git fetch", "sets core.gitproxy", ""},
	{"filter clean", `git config filter.x.clean $EVIL; echo '* filter=x' >.gitattributes`, "git diff|git add f", "sets filter.x.clean", ""},
	{"filter process", `git config filter.x.process $EVIL; echo '* filter=x' >.git/info/attributes`, "git diff", "sets filter.x.process", ""},
	{"filter smudge", `git config filter.x.smudge $EVIL; echo '* filter=x' >.gitattributes`, "rm f; git checkout f", "sets filter.x.smudge", ""},
	{"textconv", `git config diff.x.textconv $EVIL; echo '* diff=x' >.gitattributes`, "git diff|git log -p", "sets diff.x.textconv", ""},
	{"diff driver", `git config diff.x.command $EVIL; echo '* diff=x' >.gitattributes`, "git diff", "sets diff.x.command", ""},
	{"diff program", `git config diff.external $EVIL`, "git diff", "sets diff.external", ""},
	{"merge driver", `git config merge.x.driver $EVIL; echo '* merge=x' >.gitattributes; git commit -qam a; git branch -q b HEAD~1; git checkout -q b; echo 9 >f; git commit -qam b`,
		"git merge main", "sets merge.x.driver", ""},
	{"editor", `git config core.editor $EVIL`, "git commit -a", "sets core.editor", ""},
	{"sequence editor", `git config sequence.editor $EVIL; git commit -qam x`, "git rebase -i HEAD~1", "sets sequence.editor", ""},
	{"signing", `git config gpg.program $EVIL; git config commit.gpgSign true`, "git commit -am x", "sets gpg.program", ""},
	{"signing by ssh", `git config gpg.ssh.program $EVIL; git config gpg.format ssh; git config user.signingKey key::x; git config tag.gpgSign true`, "git tag -m x y", "sets gpg.ssh.program", ""},
	{"signatures in the log", `git config gpg.program $EVIL; git config format.pretty %G?; git cat-file commit HEAD | sed 's/^committer.*/&\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----/' |
		git hash-object -t commit -w --stdin >../c; git reset -q --soft $(cat ../c)`, "git log", "sets ", ""},
	{"credentials", `git config credential.helper "!$EVIL"; echo url=https://x >c`, "git credential fill <c #", "sets credential.helper", ""},
	{"password", `git config core.askPass $EVIL; echo url=https://x >c`, "git credential fill <c #", "sets core.askpass", ""},
	{"trailer", `git config trailer.x.command $EVIL`, "git interpret-trailers --trailer x=y f", "sets trailer.x.command", ""},
	{"difftool", `git config difftool.x.cmd $EVIL`, "git difftool -y -t x", "sets difftool.x.cmd", ""},
	{"alternate refs", `git config core.alternateRefsCommand $EVIL; git config remote.origin.url ../b.git; git init -q --bare ../b.git; echo $PWD/.git/objects >../b.git/objects/info/alternates; cp .git/config ../b.git/config; git config -f ../b.git/config core.bare true`,
		"git push origin HEAD:x", "sets core.alternaterefscommand", ""},
	{"pager", `git config core.pager $EVIL`, "script -qc 'git log' /dev/null", "sets core.pager", ""},
	{"pager of a command", `git config pager.status $EVIL`, "script -qc 'git status' /dev/null", "sets pager.status", ""},
	{"interactive diff", `git config interactive.diffFilter $EVIL`, "", "sets interactive.difffilter", ""},
	{"mail", `git config sendemail.toCmd $EVIL`, "", "sets sendemail.tocmd", ""},
	{"lazy objects", `git config extensions.partialClone origin; git config remote.origin.promisor true; git config core.repositoryFormatVersion 1; git config remote.origin.uploadpack $EVIL; rm -f .git/objects/$(git rev-parse HEAD~2:f | sed 's,..,&/,')`,
		"git show HEAD~1", "sets remote.origin.uploadpack", ""},
	{"submodule update", `git config submodule.lib.update "!$EVIL"; git -C lib commit -q --allow-empty -m x; git add lib; git -C lib checkout -q HEAD~1`, "git submodule update", "sets submodule.lib.update", ""},
	{"branch", `git config branch.main.remote "ext::$EVIL"; git config protocol.ext.allow always`, "git fetch", "sets ", ""},
	{"hook of a later git", `git config hook.x.command $EVIL; git config hook.x.event post-index-change`, "", "sets hook.x.", ""},
	{"unknown key", `git config no.such x`, "", "sets no.such", ""},
	{"many keys", `i=0; while [ $i -lt 3000 ]; do echo "[user]
		name = $(printf %0400d 0)"; i=$((i+1)); done >>.git/config`, "", "prints more than 1048576 bytes", ""},
	// Places of configuration files.
	{"include", `git config include.path ../c; git config -f c core.fsmonitor $EVIL`, "git status", "includes ", ""},
	{"include that is not there", `git config include.path ../c`, "", "includes ", ""},
	{"include by directory", `git config includeIf.gitdir:**.path ../c; git config -f c core.fsmonitor $EVIL`, "git status", "includes ", ""},
	{"include by branch", `git config includeIf.onbranch:main.path ../c; git config -f c core.fsmonitor $EVIL`, "git status", "includes ", ""},
	{"include by another branch", `git config includeIf.onbranch:x.path /nonexistent`, "", "sets includeif.onbranch:x.path", ""},
	{"include of the host's", `git config include.path ../../c; git config -f ../c core.fsmonitor $EVIL; git config -f ../c core.editor $EVIL`, "git status|git commit -a", "sets core.editor", ""},
	{"work tree's configuration", `git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $EVIL; git config --worktree core.editor $EVIL`, "git status|git commit -a", "sets core.editor", ""},
	{"a link", `mv .git/config c; ln -s ../c .git/config; git config -f c core.fsmonitor $EVIL`, "git status", "is a link", ""},
	{"a second name", `ln .git/config c; git config -f c user.name x; ln -f c .git/config; printf '[core]\nfsmonitor = %s\n' $EVIL >>c`, "git status", "has another name", ""},
	{"a pipe", `rm .git/config; mkfifo .git/config`, "", "is not a file", ""},
	{"a link to the host's", `rm .git/index; ln -s ../../home/x .git/index`, "", "is a link", ""},
	{"another common directory", `cp -r .git g; echo ../g >.git/commondir; git config -f g/config core.fsmonitor $EVIL`, "git status", "has a part elsewhere", ""},
	{"another work tree", `git config core.worktree /etc`, "", "sets core.worktree", ""},
	{"no repository", `cp -r .git/* .; git config -f config core.fsmonitor $EVIL; git config -f config core.bare false; git config -f config core.worktree .; rm .git/HEAD`, "git status", "is no repository that git reads", ""},
	{"no repository, one above", `mkdir -p x; mv .git x; ln -s x/.git .git; git config core.fsmonitor $EVIL`, "git status", "nobody", ""},
	{"objects", `mkdir o; echo $PWD/o >.git/objects/info/alternates`, "", "objects/info/alternates", ""},
	{"objects by a link", `mv .git/objects o; ln -s ../o .git/objects`, "", "is a link", ""},
	// Hooks, which the preset disables.
	{"hook", `cp $EVIL .git/hooks/post-index-change; touch f`, "touch -d @1 f; git status", "", ""},
	{"hook of a commit", `cp $EVIL .git/hooks/pre-commit`, "git commit -am x", "", ""},
	{"hook of a checkout", `cp $EVIL .git/hooks/post-checkout`, "git checkout -q -b y", "", ""},
	{"hook of a push", `cp $EVIL .git/hooks/pre-push`, "git push origin HEAD:x", "", ""},
	{"hook of a reference", `cp $EVIL .git/hooks/reference-transaction`, "git fetch origin main:z", "", ""},
	{"hooks elsewhere", `mkdir h; cp $EVIL h/post-index-change; git config core.hooksPath h`, "touch -d @1 f; git status", "", ""},
	// Remotes outside of the configuration.
	{"remote of a file", `git remote rm origin; mkdir -p .git/remotes; echo "URL: ext::$EVIL" >.git/remotes/origin; git config protocol.ext.allow always`, "git fetch origin", "sets protocol.ext.allow", ""},
	// Work trees whose .git names nothing.
	{"submodule", `mv lib/.git x; cp -r .git/modules/lib lib/.git; git config -f lib/.git/config --unset core.worktree; git -C lib config core.fsmonitor $EVIL`, "git status|git diff", "", ""},
	{"submodule by filter", `rm -rf lib; git init -q lib; cd lib; echo l >l; git add l; git commit -qm x; git config filter.x.clean $EVIL; echo '* filter=x' >.gitattributes; echo y >l`, "git status|git diff", "", ""},
	{"submodule by file", `git clone -q ../lib.git e; git -C e config core.fsmonitor $EVIL; rm lib/.git; echo "gitdir: ../e/.git" >lib/.git`, "git status|git diff", "", ""},
	{"submodule by link", `git clone -q ../lib.git e; git -C e config core.fsmonitor $EVIL; rm lib/.git; ln -s ../e/.git lib/.git`, "git status|git diff", "", ""},
	{"submodule that is not to be ignored", `git config -f .gitmodules submodule.lib.ignore none; rm lib/.git; git init -q lib; git -C lib config core.fsmonitor $EVIL; echo y >lib/y`,
		"git -c diff.ignoreSubmodules=all status", "", ""},
	{"submodule in a submodule", `cd lib; rm .git; git init -q; git -c protocol.file.allow=always submodule --quiet add ../../lib.git in; git commit -qam x; rm -rf in; git init -q in; git -C in config core.fsmonitor $EVIL; echo y >in/y; git -C in add y`,
		"git status", "", ""},
	{"submodule that was empty", `git submodule --quiet deinit -f lib; git init -q lib; git -C lib config core.fsmonitor $EVIL; echo y >lib/l; git -C lib add l`, "git status", "", ""},
	{"submodule in a summary", `git config status.submoduleSummary true; git -C lib commit -q --allow-empty -m x; rm lib/.git; cp -r .git/modules/lib lib/.git; git config -f lib/.git/config --unset core.worktree; git -C lib config core.fsmonitor $EVIL`, "git status", "", ""},
	{"submodule in the log", `git config diff.submodule diff; rm lib/.git; cp -r .git/modules/lib lib/.git; git config -f lib/.git/config --unset core.worktree; git -C lib config diff.external $EVIL; git -C lib commit -qam x --allow-empty; echo y >lib/l; git -C lib commit -qam y; git add lib; git commit -qm z`,
		"git log -p --ext-diff", "", ""},
	{"submodule that becomes a file", `git config diff.submodule diff; rm lib/.git; cp -r .git/modules/lib lib/.git; git config -f lib/.git/config --unset core.worktree; git -C lib config diff.external $EVIL; git update-index --cacheinfo 100644,$(git rev-parse HEAD:f),lib; git commit -qm x`,
		"git show --ignore-submodules=all|git diff --ignore-submodules=all HEAD~1 HEAD", "", ""},
	{"repository that is no submodule", `git init -q sub; git -C sub config core.fsmonitor $EVIL; echo x >sub/x; git -C sub add x`, "", "", ""},
	{"submodule's modules", `git config -f .git/modules/lib/config core.fsmonitor $EVIL`, "git status", "", ""},
	{"repository in a directory", `mkdir sub; git init -q sub; git -C sub config core.fsmonitor $EVIL`, "git status", "nobody", "sub"},
	{"repository of a file", `git init -q e; git -C e config core.fsmonitor $EVIL; mkdir sub; echo gitdir: ../e/.git >sub/.git`, "git status", "nobody", "sub"},
	{"repository of a link", `git init -q e; git -C e config core.fsmonitor $EVIL; mkdir sub; ln -s ../e/.git sub/.git`, "git status", "nobody", "sub"},
	{"bare repository", `git init -q --bare sub; git -C sub config core.bare false; git -C sub config core.worktree .; git -C sub config core.fsmonitor $EVIL`, "git status", "nobody", "sub"},
	{"inside of a bare repository", `git init -q --bare sub; git -C sub config core.bare false; git -C sub config core.worktree .; git -C sub config core.fsmonitor $EVIL`, "git status", "nobody", "sub/objects"},
	{"a directory of the repository", `mkdir sub; git config core.fsmonitor $EVIL`, "git status", "nobody", "sub"},
	{"a directory for a remote", `git remote rm origin; git init -q --bare origin; cp $EVIL origin/hooks/pre-receive`, "git push origin HEAD:x", "", ""},
}
