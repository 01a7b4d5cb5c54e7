// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"strings"
	"testing"
)

// TestFormats uses repositories of other kinds: they work, or git names the kind that is refused.
func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		name, format, script string
		code                 int
		want                 string
	}{
		{"shallow", "sha1", "git clone -q --depth 1 --no-single-branch hostexec::origin s; cd s; test -f .git/shallow; " + commit + "git push origin main", 0, "main -> main"},
		{"shallow, then whole", "sha1", "git clone -q --depth 1 hostexec::origin s; cd s; git fetch -q --unshallow; ! test -f .git/shallow; git log --oneline", 0, "one"},
		{"shallow, to a remote without the older commits", "sha1", "git clone -q hostexec::origin a; cd a; " + commit + "git push -q origin main; cd ..; git clone -q --depth 1 hostexec::origin s; " +
			"test -f s/.git/shallow; rm -rf remote.git state; git init -q --bare -b main remote.git; cd s; git push origin main", 1, "main -> main (shallow update not allowed"},
		{"sha256", "sha256", "git clone -q hostexec::origin s; cd s; " + commit + "git push origin main; git rev-parse --show-object-format", 0, "sha256"},
		{"sha256 to sha1", "sha1", "git init -q -b main --object-format=sha256 s; cd s; " + commit + "git push hostexec::origin main:x", 128, "hash algorithm"},
		{"worktree", "sha1", "git clone -q hostexec::origin s; cd s; git worktree add -q ../tree -b tree; cd ../tree; " + commit + "git push origin tree", 0, "tree -> tree"},
		{"partial clone", "sha1", "git clone -q --filter=blob:none --no-checkout hostexec::origin s; cd s; git rev-list --objects --missing=print --all | grep '^?'; git checkout -q main; cat f; " + commit + "git push origin main", 0, "main -> main"},
		{"submodule", "sha1", "git init -q -b main lib; (cd lib; " + commit + "); git clone -q hostexec::origin s; cd s; git -c protocol.file.allow=always submodule add -q $PWD/../lib lib; git commit -qm sub; git push origin main", 0, "main -> main"},
		{"a clone as a submodule", "sha1", "git init -q -b main s; cd s; git -c protocol.hostexec.allow=always submodule add -q hostexec::origin lib; test -f lib/f", 0, ""},
		{"LFS", "sha1", "git clone -q hostexec::origin s; cd s; printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:00\\nsize 1\\n' >big; " + commit + "git push origin main", 1, "files of Git LFS"},
		{"atomic", "sha1", "git clone -q hostexec::origin s; cd s; " + commit + "git push --atomic origin main", 128, "does not support --atomic"},
		{"options", "sha1", "git clone -q hostexec::origin s; cd s; " + commit + "git push -o x origin main", 128, "does not support push options"},
		{"archive", "sha1", "git archive --remote=hostexec::origin HEAD", 128, ""},
		{"other refs", "sha1", "git clone -q hostexec::origin s; cd s; git push origin main:refs/notes/x", 1, "only branches and tags"},
		{"rewritten", "sha1", "git clone -q hostexec::origin s; cd s; git remote set-url origin https://example.org/r.git; git config --global url.hostexec::origin.insteadOf \"$(git config remote.origin.url)\"; " + commit + "git push origin main; git fetch", 0, "main -> main"},
		{"mirror", "sha1", "git clone -q --mirror hostexec::origin s; cd s; git rev-parse main", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, tt.format)
			out, code := f.try(f.dir, tt.script)
			if code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d, want %d\n%s%s, want %q", code, tt.code, out, f.complained(), tt.want)
			}
			f.empty()
		})
	}
}

// TestEmpty begins with a remote without commits.
func TestEmpty(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		f := newFixture(t, format)
		f.sh(f.dir, "rm -rf remote.git; git init -q --bare --object-format="+format+" -b trunk remote.git; git clone -q hostexec::origin work 2>/dev/null")
		out, code := f.try(f.dir+"/work", "git checkout -q -B trunk; "+commit+"git push origin trunk; cd ..; git clone -q hostexec::origin again; cd again; git rev-parse --abbrev-ref HEAD")
		if format == "sha1" && (code != 0 || !strings.HasSuffix(out, "\ntrunk\n")) || code == 0 && f.id("trunk") == "" {
			t.Errorf("%s: exit code %d\n%s%s", format, code, out, f.complained())
		}
	}
}
