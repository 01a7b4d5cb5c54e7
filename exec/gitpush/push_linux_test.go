// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

const commit = "echo $RANDOM$$ >>f; git add .; git commit -qm 'a commit'; "

// TestPush pushes, fetches and pulls as with any remote.
func TestPush(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	out := f.sh(w, commit+"git push origin main HEAD:new 2>&1")
	for _, line := range []string{"To hostexec::origin", "main -> main", "* [new branch]      HEAD -> new"} {
		if !strings.Contains(out, line) {
			t.Errorf("git push says %q, want %q", out, line)
		}
	}
	head := f.sh(w, "git rev-parse HEAD")
	if f.id("main") != head || f.id("new") != head || f.sh(w, "git rev-parse origin/main") != head {
		t.Errorf("main is %s, new is %s, want %s", f.id("main"), f.id("new"), head)
	}
	f.sh(f.dir, "cd seed; git pull -q ../remote.git main; echo s >s; git add s; git commit -qm theirs; git push -q ../remote.git main:main :new; git tag v1; git push -q ../remote.git v1")
	f.sh(w, "git fetch -q --prune --tags; git pull -q --ff-only; test -f s; git rev-parse v1; ! git rev-parse -q --verify origin/new")
	if n := f.decided(); n != 2 {
		t.Errorf("%d updates were decided, want 2", n)
	}
	if u := f.last(); u.Kind != Push || u.Name != "new" || u.New != head || strings.Trim(u.Old, "0") != "" {
		t.Errorf("the last update is %+v", u)
	}
	f.empty()
}

// TestKinds checks that each kind of update is recognized, and changes the remote as requested.
func TestKinds(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	for _, tt := range []struct {
		script, ref string
		kind        Kind
		name        string
	}{
		{commit + "git push -q origin main", "main", Push, "main"},
		{"git push -q origin main:agent/x", "agent/x", Push, "agent/x"},
		{"git commit -q --amend -m other; git push -q -f origin main", "main", Force, "main"},
		{commit + "git push -q -f origin main", "main", Push, "main"}, // it loses nothing
		{"git push -q origin :agent/x", "", Delete, "agent/x"},
		{"git tag v1; git push -q origin v1", "v1", Tag, "v1"},
		{"git tag -a -m t v2; git push -q origin v2", "v2", Tag, "v2"},
		{commit + "git tag -f v1; git push -q -f origin v1", "v1", ForceTag, "v1"},
		{"git push -q origin :v2", "", DeleteTag, "v2"},
	} {
		before := f.decided()
		f.sh(w, tt.script)
		if u := f.last(); f.decided() != before+1 || u.Kind != tt.kind || u.Name != tt.name {
			t.Errorf("%s: %d updates, the last is %s %s, want %s %s", tt.script, f.decided()-before, u.Kind, u.Name, tt.kind, tt.name)
		}
		if tt.ref == "" && f.id(f.last().Ref) != "" {
			t.Errorf("%s: the ref is still there", tt.script)
		} else if tt.ref != "" && f.id(tt.ref) != f.sh(w, "git rev-parse "+strings.Replace(tt.ref, "agent/x", "main", 1)) {
			t.Errorf("%s: the remote has another commit", tt.script)
		}
	}
	f.empty()
}

// TestDenied denies one of two updates: git prints the reason and fails, and only the other update
// is made.
func TestDenied(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	old := f.id("main")
	f.answer(func(u Update) error {
		if u.Name == "main" {
			return errors.New("not today")
		}
		return nil
	})
	out, code := f.try(w, commit+"git push origin main main:other")
	if code != 1 || !strings.Contains(out, "! [remote rejected] main -> main (hostexec: not today)") || !strings.Contains(out, "main -> other") {
		t.Errorf("exit code %d, %s", code, out)
	}
	if f.id("main") != old || f.id("other") == "" {
		t.Errorf("main is %s, want %s; other is %q", f.id("main"), old, f.id("other"))
	}
	f.empty()
}

// TestMoves moves the remote's ref after the update was shown: the push fails, even if it is
// forced.
//
// Attack 252.
func TestMoves(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	for _, tt := range []struct{ name, script, ref, move string }{
		{"a branch", commit + "git push origin main", "main", "main"},
		{"a forced branch", "git commit -q --amend -m x; git push -f origin main", "main", "main"},
		{"a new branch", "git push origin main:new", "new", "new"},
		{"a branch to delete", "git push origin :new", "new", "new"},
	} {
		f.answer(func(Update) error {
			f.sh(f.dir, "cd seed; "+commit+"git push -q -f ../remote.git HEAD:"+tt.move)
			return nil
		})
		out, code := f.try(w, tt.script)
		if code != 1 || !strings.Contains(out, "[remote rejected]") || !strings.Contains(out, "stale info") {
			t.Errorf("%s: exit code %d, %s", tt.name, code, out)
		}
		if got := f.id(tt.ref); got != f.sh(f.dir+"/seed", "git rev-parse HEAD") {
			t.Errorf("%s: the remote has %s", tt.name, got)
		}
	}
	out, code := f.try(w, "git push origin main")
	if code != 1 || !strings.Contains(out, "fetch first") {
		t.Errorf("an old clone: exit code %d, %s", code, out)
	}
}

// TestRemoteRefuses has a hook of the remote refuse: its output and git's reach the container.
func TestRemoteRefuses(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	f.check(os.WriteFile(f.remote+"/hooks/pre-receive", []byte("#!/bin/sh\necho house rules >&2\nexit 1\n"), 0o755))
	out, code := f.try(w, commit+"git push origin main")
	if code != 1 || !strings.Contains(out, "remote: house rules") || strings.Contains(out, "remote: remote:") || !strings.Contains(out, "(origin: pre-receive hook declined)") {
		t.Errorf("exit code %d, %s", code, out)
	}
	f.check(os.RemoveAll(f.remote))
	if out, code := f.try(w, "git fetch"); code != 128 || !strings.Contains(f.complained(), "does not appear to be a git repository") {
		t.Errorf("no remote: exit code %d, %s, %s", code, out, f.complained())
	}
}

// TestNothing dry runs, and pushes without a change, are not decided.
func TestNothing(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	f.sh(w, "git push -q origin main; "+commit+"git push -q --dry-run origin main; git ls-remote origin")
	if f.decided() > 0 {
		t.Errorf("%d updates were decided", f.decided())
	}
}

// TestNotes checks the description of a push that a person sees.
func TestNotes(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	f.sh(w, `echo 2 >>f; git add f; git commit -qm "$(printf 'a \033[31mred\033[0m one')"; for i in $(seq 25); do echo $i >g$i; git add g$i; git commit -qm "number $i"; done; git push -q origin main`)
	u := f.last()
	text := strings.Join(u.Notes, "\n")
	for _, want := range []string{"remote origin: " + f.remote, "push refs/heads/main", "old " + u.Old, "new " + u.New, " number 25\n", "and more commits", "f   | 1 +", "26 files changed, 26 insertions(+)"} {
		if !strings.Contains("\n "+text, want) {
			t.Errorf("the notes lack %q:\n%s", want, text)
		}
	}
	f.sh(w, "git reset -q --hard HEAD~26; "+`echo x >x; git add x; git commit -qm "$(printf 'a \033[31mred\033[0m one')"; git push -q -f origin main`)
	text = strings.Join(f.last().Notes, "\n")
	if !strings.Contains(text, "takes away ") || strings.ContainsAny(text, "\x1b") || !strings.Contains(text, `\x1b[31mred`) {
		t.Errorf("the notes of a forced push:\n%s", text)
	}
}

// TestHostHooks checks that git of the host runs none of the host's own hooks and filters.
func TestHostHooks(t *testing.T) {
	f := newFixture(t, "sha1")
	f.ssh()
	w := f.clone("")
	marker := filepath.Join(f.dir, "ran")
	hook := "#!/bin/sh\necho \"$0\" >>" + marker + "\n"
	hooks := filepath.Join(f.dir, "home", "hooks")
	f.check(os.Mkdir(hooks, 0o755))
	for _, name := range []string{"pre-push", "reference-transaction", "post-update", "pre-receive"} {
		f.check(os.WriteFile(filepath.Join(hooks, name), []byte(hook), 0o755))
	}
	f.check(os.WriteFile(filepath.Join(f.dir, "home", ".gitconfig"), []byte("[core]\n\thooksPath = "+hooks+"\n\tfsmonitor = "+hooks+"/pre-push\n[diff]\n\texternal = "+hooks+"/pre-push\n"), 0o644))
	f.sh(w, commit+"git push -q origin main; git fetch -q; git push -q origin main:new; git push -q origin :new")
	if ran, err := os.ReadFile(marker); err == nil {
		t.Errorf("git of the host ran %s", ran)
	}
	// The remote's own hooks do run: the marker works.
	f.check(os.WriteFile(filepath.Join(f.remote, "hooks", "pre-receive"), []byte(hook), 0o755))
	f.sh(w, commit+"git push -q origin HEAD:third")
	if _, err := os.ReadFile(marker); err != nil {
		t.Errorf("no hook runs at all: %v", err)
	}
}

// unstartable runs no git that pushes to the remote.
type unstartable struct{ Runner }

func (u unstartable) Run(ctx context.Context, c executor.Command, s executor.Streams) (executor.Status, error) {
	if slices.Contains(c.Args, "push") {
		return executor.Status{}, errors.New("no descriptor is left")
	}
	return u.Runner.Run(ctx, c, s)
}

// TestPushDoesNotStart checks that an approved push that did not run is not recorded as a success.
func TestPushDoesNotStart(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	f.limit(func(c *Call) { c.Runner = unstartable{c.Runner} })
	if out, code := f.try(w, commit+"git push -q origin main"); code == 0 {
		t.Errorf("the push succeeds: %s", out)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.ended, []int{exitFatal}) {
		t.Errorf("recorded are the exit codes %v, want %d", f.ended, exitFatal)
	}
}
