// SPDX-License-Identifier: Apache-2.0

package git

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/mount"
)

// asks lists the documented keys that are not in the list of harmless ones, by reason.
var asks = map[string]string{
	"a program": `alias.* browser.*.cmd browser.*.path core.alternateRefsCommand core.askPass core.editor core.fsmonitor core.gitProxy
		core.hooksPath core.pager core.sshCommand credential.helper credential.x.x diff.*.command diff.*.textconv diff.external diff.guitool
		diff.tool difftool.*.cmd difftool.*.path difftool.guiDefault difftool.prompt difftool.trustExitCode format.commitListFormat filter.*.clean filter.*.smudge filter.*.process filter.*.required
		format.pretty pretty.* gc.recentObjectsHook gpg.*.program gpg.program gpg.ssh.defaultKeyCommand guitool.*.* help.browser help.format help.htmlPath
		hook.*.* hook.* imap.* instaweb.* interactive.diffFilter interactive.singleKey log.showSignature man.*.cmd man.*.path man.viewer
		merge.*.driver merge.*.name merge.*.recursive merge.guitool merge.tool merge.verifySignatures mergetool.* mergetool.*.* pager.*
		receive.procReceiveRefs remote.*.receivepack remote.*.uploadpack remote.*.vcs sendemail.* sendemail.*.* sequence.editor submodule.*.update
		trailer.* trailer.*.* uploadpack.packObjectsHook web.browser gitweb.* gitcvs.* completion.commands fsmonitor.*`,
	"another file": `blame.ignoreRevsFile commit.template core.attributesFile core.excludesFile core.worktree diff.orderFile fetch.bundleURI
		fetch.bundleCreationToken fetch.fsck.* fetch.fsck.*.* format.outputDirectory gc.repackFilterTo init.defaultSubmodulePathConfig format.signatureFile format.signature format.headers format.to format.cc fsck.* gpg.ssh.*
		include.path includeIf.*.path init.templateDir mailmap.file maintenance.repo notes.rewrite.* receive.fsck.* receive.fsck.skipList receive.certNonceSeed
		receive.certNonceSlop trace2.* core.alternateRefsPrefixes extensions.refStorage submodule.*.gitdir extensions.submodulePathConfig`,
	"another place": `branch.*.pushRemote branch.*.remote branch.*.mergeOptions bundle.* bundle.*.* extensions.partialClone http.* http.*.* protocol.allow protocol.*.allow
		remote.*.partialclonefilter remote.*.promisor remote.*.proxy remote.*.proxyAuthMethod remote.*.pushurl remote.*.url remote.pushDefault submodule.*.url url.*.insteadOf
		url.*.pushInsteadOf credentialCache.* credentialStore.* promisor.* remote.*.advertisedAs sideband.* transfer.bundleURI fastimport.unpackLimit`,
}

// TestEveryKey checks each key that git documents: it must be in one of the two lists. A key of a
// later git version must be reviewed; until then it causes a question.
//
// Attack 88.
func TestEveryKey(t *testing.T) {
	out, err := exec.Command("git", "help", "--config").Output()
	if err != nil {
		t.Fatalf("git help --config: %v", err)
	}
	keys := 0
	for line := range strings.Lines(string(out)) {
		key := strings.TrimSpace(line)
		if !strings.Contains(key, ".") || strings.Contains(key, " ") || key == "feature.*" {
			continue
		}
		keys++
		key = documented(key)
		section, _, _ := split(key)
		switch why := whyNotHarmless(key); {
		case known(key) && why != "" && section != "http":
			t.Errorf("%s is harmless, and may name %s", key, why)
		case !known(key) && why == "":
			t.Errorf("%s is new: look at whether it names a program, a file or an address", key)
		}
	}
	if keys < 500 {
		t.Errorf("git help --config has %d keys", keys)
	}
}

// whyNotHarmless returns the reason why key is not harmless, or "".
func whyNotHarmless(key string) string {
	for why, list := range asks {
		for p := range strings.FieldsSeq(strings.ToLower(list)) {
			if ok, _ := path.Match(p, key); ok { // a star matches any text without a slash
				return why
			}
		}
	}
	return ""
}

// documented converts a key of git's help, such as branch.<name>.merge, to a valid key.
func documented(key string) string {
	for {
		i, j := strings.IndexByte(key, '<'), strings.IndexByte(key, '>')
		if i < 0 || j < i {
			return strings.ToLower(strings.ReplaceAll(key, "*", "x"))
		}
		key = key[:i] + "x" + key[j+1:]
	}
}

// TestRepositoryConfig checks entries that a repository sets.
//
// Attack 88.
func TestRepositoryConfig(t *testing.T) {
	work := t.TempDir()
	mounts, err := mount.NewTable([]mount.Point{{Target: "/w", Source: work, Bind: true}}, mount.Default{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mounts.Close() })
	c := &Check{Mounts: mounts}
	line, _ := parse([]string{"git", "-c", "core.hooksPath=/dev/null", "status"}, false)
	odd, _ := parse([]string{"git", "st"}, false)
	remotes := map[string]bool{"origin": true}
	for _, tt := range []struct {
		line       commandLine
		key, value string
		want       bool
	}{
		{line, "core.bare", "false", true},
		{line, "remote.origin.url", "https://github.com/a/b.git", true},
		{line, "remote.origin.url", "https://user:token@github.com/a/b", true},
		{line, "remote.origin.url", "git@github.com:a/b.git", true},
		{line, "remote.origin.url", "ssh://git@[::1]:22/a/b", true},
		{line, "remote.origin.url", "/srv/git/a.git", true},
		{line, "remote.origin.url", "file:///srv/git/a.git", true},
		{line, "remote.origin.url", work + "/evil.git", false},
		{line, "remote.origin.url", "../evil.git", false},
		{line, "remote.origin.url", "ext::sh -c evil", false},
		{line, "remote.origin.url", "fd::3", false},
		{line, "remote.origin.url", "evil::https://x/y", false},
		{line, "remote.origin.url", "-oProxyCommand=evil:x", false},
		{line, "remote.origin.url", "ssh://-oProxyCommand=evil/x", false},
		{line, "remote.origin.url", "ssh://a@-oProxyCommand=evil/x", false},
		{line, "remote.origin.url", "host:-x", false},
		{line, "remote.origin.url", "", false},
		{line, "remote.origin.gh-resolved", "base", true},
		{line, "remote.origin.uploadpack", "evil", false},
		{line, "remote.a.b.fetch", "+refs/heads/*:refs/remotes/origin/*", true},
		{line, "branch.main.remote", "origin", true},
		{line, "branch.main.remote", ".", true},
		{line, "branch.main.remote", "evil", false},
		{line, "branch.a.b.vscode-merge-base", "origin/main", true},
		{line, "core.fsmonitor", "true", true},
		{line, "core.fsmonitor", "evil", false},
		{line, "core.hookspath", ".husky/_", true}, // -c overrides it
		{odd, "core.hookspath", ".husky/_", false},
		{line, "submodule.lib.update", "rebase", true},
		{line, "submodule.lib.update", "!evil", false},
		{line, "alias.st", "!evil", true}, // status is a built-in command
		{odd, "alias.st", "!evil", false},
		{line, "url.git@github.com:.insteadof", "https://github.com/", true},
		{line, "url.ext::sh -c evil .insteadof", "https://github.com/", false},
		{line, "format.pretty", "%h %s", true},
		{line, "format.pretty", "%G?", false},
		{line, "extensions.refstorage", "reftable", true},
		{line, "filter.lfs.clean", "git-lfs clean -- %f", false},
		{line, "no.such", "x", false},
		{line, "no.such.key", "x", false},
		{line, "advice.such", "x", true},
	} {
		if got := c.allows(repository{}, tt.line, remotes, entry{scope: "local", key: tt.key, value: tt.value}); got != tt.want {
			t.Errorf("allows %s=%s: %v, want %v", tt.key, tt.value, got, tt.want)
		}
	}
}

// TestRepositoriesEntered checks which repositories git may enter for each command line.
//
// Attack 225.
func TestRepositoriesEntered(t *testing.T) {
	log := &config{entries: []entry{{key: "diff.submodule", value: "log"}}}
	short := &config{entries: []entry{{key: "diff.submodule", value: "log"}, {key: "diff.submodule", value: "short"}}}
	summary := &config{entries: []entry{{key: "status.submodulesummary", value: "3"}}}
	recurse := &config{entries: []entry{{key: "submodule.recurse", value: "TRUE"}}}
	for _, tt := range []struct {
		args string
		cfg  *config
		want reach
	}{
		{"branch -a", nil, own},
		{"status", nil, tracked},
		{"status --ignore-submodules=all", nil, own},
		{"status --ignore-submodules", log, own},
		{"status --ignore-submodules=all --ignore-submodules=none", nil, tracked},
		{"status --ignore-submodules=all --ignore-sub=none", nil, tracked},
		{"status --ignore-submodules=all --no-ignore-submodules", nil, tracked},
		{"status -- --ignore-submodules=all", nil, tracked},
		{"diff --ignore-submodules=dirty", nil, tracked},
		{"diff --submodule=diff", nil, anywhere},
		{"diff --subm=diff --ignore-submodules=all", nil, anywhere},
		{"diff --ignore-submodules=all", log, anywhere},
		{"diff --ignore-submodules=all", short, own},
		{"show --ignore-submodules=all", log, anywhere},
		{"status --ignore-submodules=all -v", log, anywhere},
		{"status --ignore-submodules=all -sb --verb", log, anywhere},
		{"status --ignore-submodules=all", summary, own},
		{"status", summary, anywhere},
		{"branch x", recurse, anywhere},
		{"branch --recurse x", nil, anywhere},
		{"grep x HEAD", recurse, anywhere},
		{"grep x HEAD", nil, tracked},
		{"ls-files --recurse-submodules", nil, anywhere},
		{"log", log, anywhere},
		{"fetch origin", nil, anywhere},
		{"fetch --no-recurse-submodules origin", nil, own},
		{"fetch --no-recurse-submodules --recurse-submodules=yes origin", nil, anywhere},
		{"fetch --no-recurse-submodules --recurse-sub origin", nil, anywhere},
		{"push --recurse-submodules=no origin", nil, own},
		{"push origin", nil, anywhere},
		{"remote -v", nil, own},
		{"remote update", nil, anywhere},
		{"commit -m x", nil, tracked},
		{"checkout main", nil, anywhere},
		{"submodule update", nil, anywhere},
		{"st", nil, anywhere},
	} {
		line, ok := parse(append([]string{"git"}, strings.Fields(tt.args)...), false)
		if tt.cfg == nil {
			tt.cfg = &config{}
		}
		if got := line.reach(tt.cfg); !ok || got != tt.want {
			t.Errorf("%s: %v, want %v", tt.args, got, tt.want)
		}
	}
	for _, args := range [][]string{nil, {"git"}, {"git", "-p", "log"}, {"git", "-C", "/x", "log"}, {"git", "-c"}, {"git", "--git-dir=x", "log"}, {"git", "--exec-path=/x", "log"}, {"git", "-cx=y", "log"}} {
		if _, ok := parse(args, false); ok {
			t.Errorf("%q is known", args)
		}
	}
}

// TestGitlinks splits the output of git ls-files at every position.
func TestGitlinks(t *testing.T) {
	const out = "100644 0 0\ta\x00160000 0 0\tlib\x00100644 0 0\t160000 x\x00160000 0 0\tb\tc\nd\x00"
	for i := range out {
		g := &gitlinks{max: 2}
		g.Write([]byte(out[:i]))
		g.Write([]byte(out[i:]))
		if want := []string{"lib", "b\tc\nd"}; !slices.Equal(g.paths, want) || g.over {
			t.Errorf("cut at %d: %q, %v", i, g.paths, g.over)
		}
	}
	g := &gitlinks{max: 1}
	if _, err := g.Write([]byte(out)); err == nil || !g.over {
		t.Error("two are not too many for one")
	}
}
