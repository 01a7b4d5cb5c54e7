// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// tree makes files, given as names and contents, and returns their directory.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	at := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		put(t, filepath.Join(at, files[i]), files[i+1])
	}
	return at
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// find returns the inputs of a command line in the directory at.
func find(t *testing.T, at string, c Command) (*Set, error) {
	t.Helper()
	d, err := dir.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if c.Name == "" {
		c.Name = c.Args[0]
	}
	c.Dir = d
	s, err := c.Find()
	if err == nil {
		s.Call = "call"
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	return s, err
}

// shown lists the paths of s, with a ! before those that are absent.
func shown(s *Set) string {
	var list []string
	for _, f := range s.Files {
		if f.Absent {
			f.Path = "!" + f.Path
		}
		list = append(list, f.Path)
	}
	return strings.Join(list, " ")
}

func TestFind(t *testing.T) {
	at := tree(t, "Makefile", "include a.mk \\\n b.mk # c.mk\n-include gone.mk\nall:\n", "a.mk", " include sub/d.mk\n", "b.mk", "", "sub/d.mk", "",
		"vars.mk", "include $(DEPS)\n", "eval.mk", "$(eval include x)\n", "run.sh", "echo\n", "sub/Makefile", "all:\n",
		"package.json", "{}", "package-lock.json", "{}", ".yarnrc.yml", "yarnPath: x.cjs\n",
		"compose.yaml", "include: [inc.yaml]\nservices: {a: {extends: {file: base.yaml, service: b}, env_file: [{path: a.env}]}}\n", "inc.yaml", "services: {}\n",
		"base.yaml", "secrets: {s: {file: secret}}\n", "env.yaml", "include: ['${X}.yaml']\n", "src/a/x.c", "", "src/y.c", "", "src/y.h", "")
	if err := os.Symlink("run.sh", at+"/link.sh"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(at+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(at+"/src/y.h", maxBytes+1); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args  string
		globs []string
		env   string
		want  string // the files, or a part of the error after "error: "
	}{
		{args: "make test", want: "!GNUmakefile Makefile a.mk b.mk !gone.mk !makefile sub/d.mk"},
		{args: "make -sC sub -j4 X=1", want: "!sub/GNUmakefile sub/Makefile !sub/makefile"},
		{args: "make -f vars.mk", want: "error: a variable or a pattern"},
		{args: "make --file=eval.mk", want: "error: eval"},
		{args: "make -f ../Makefile", want: "error: not below the directory"},
		{args: "make -f -", want: "error: standard input"},
		{args: "make -I x", want: "error: -I"},
		{args: "make --fil=Makefile", want: "error: --fil"},
		{args: "make", env: "MAKEFILES=x", want: "error: MAKEFILES"},
		{args: "make", env: "MAKEFLAGS=-j4", want: "!GNUmakefile Makefile a.mk b.mk !gone.mk !makefile sub/d.mk"},
		{args: "make", env: "MAKEFLAGS=-f x", want: "error: MAKEFLAGS"},
		{args: "bash -eo pipefail run.sh -c x", want: "run.sh"},
		{args: "python3.11 -u run.sh", want: "run.sh"},
		{args: "sh -c run.sh", want: "error: -c"},
		{args: "sh", want: "error: no script"},
		{args: "sh gone.sh", want: "error: there is no gone.sh"},
		{args: "sh link.sh", want: "error: link"},
		{args: "sh fifo", want: "error: not a regular file"},
		{args: "sh src", want: "error: not a regular file"},
		{args: "sh src/y.h", want: "error: 4 MiB"},
		{args: "sh run.sh", env: "BASH_ENV=x", want: "error: BASH_ENV"},
		{args: "npm run test -- --watch", want: "!.npmrc !binding.gyp !npm-shrinkwrap.json package-lock.json package.json"},
		{args: "npm run test --prefix sub", want: "error: --prefix"},
		{args: "yarn test", want: "error: yarnPath"},
		{args: "docker compose up -d", want: "!.env !a.env base.yaml !compose.override.yaml !compose.override.yml compose.yaml !compose.yml !container-compose.override.yaml !container-compose.override.yml !container-compose.yaml !container-compose.yml !docker-compose.override.yaml !docker-compose.override.yml !docker-compose.yaml !docker-compose.yml inc.yaml !podman-compose.yaml !podman-compose.yml !secret"},
		{args: "podman compose up", want: "!.env !a.env base.yaml !compose.override.yaml !compose.override.yml compose.yaml !compose.yml !container-compose.override.yaml !container-compose.override.yml !container-compose.yaml !container-compose.yml !docker-compose.override.yaml !docker-compose.override.yml !docker-compose.yaml !docker-compose.yml inc.yaml !podman-compose.yaml !podman-compose.yml !secret"},
		{args: "docker compose -f env.yaml up", want: "error: a variable or a URL"},
		{args: "docker ps", want: "error: a rule can name them"},
		{args: "cc x", want: "error: a rule can name them"},
		{args: "cc x", globs: []string{"src/**/*.c", "gone"}, want: "!gone src/a/x.c src/y.c"},
		{args: "cc x", globs: []string{"*.sh"}, want: "error: link"},
		{args: "cc x", globs: []string{"sub/*.rs"}, want: "error: no file"},
		{args: "cc x", globs: []string{"src/*/x.c"}, want: "src/a/x.c"},
	} {
		s, err := find(t, at, Command{Args: strings.Fields(tt.args), Globs: tt.globs, Env: []string{tt.env}, Confined: true})
		switch why, bad := strings.CutPrefix(tt.want, "error: "); {
		case bad && (err == nil || !strings.Contains(err.Error(), why)):
			t.Errorf("%s: error %v, want %q", tt.args, err, why)
		case !bad && err != nil:
			t.Errorf("%s: %v", tt.args, err)
		case !bad && shown(s) != tt.want:
			t.Errorf("%s: %s, want %s", tt.args, shown(s), tt.want)
		}
	}
	if _, err := find(t, at, Command{Args: []string{"make"}}); err == nil || !strings.Contains(err.Error(), "sandbox") {
		t.Errorf("make on the host: %v, want an error that names the sandbox", err)
	}
	for _, c := range []Command{{Args: []string{"make"}}, {Args: []string{"cargo"}, RunsDirCode: true}} {
		c.Globs = []string{"**"}
		if _, err := find(t, at, c); err == nil || !strings.Contains(err.Error(), "sandbox") {
			t.Errorf("%s on the host, with inputs of a rule: %v, want an error that names the sandbox", c.Args[0], err)
		}
	}
}

// TestFindHidden checks files that name further ones in a way that is easily overlooked.
//
// Attack 276.
func TestFindHidden(t *testing.T) {
	const evil = "error: eval"
	for _, tt := range []struct{ name, text, args, want string }{
		{"a byte order mark", "\ufeffinclude x", "make", "!GNUmakefile Makefile !makefile !x"},
		{"an escaped backslash at the end of a line", "A = a\\\\\ninclude x", "make", "!GNUmakefile Makefile !makefile !x"},
		{"three backslashes", "A = a\\\\\\\ninclude x", "make", "!GNUmakefile Makefile !makefile"},
		{"a space in a name", "include a\\ b", "make", "error: a variable or a pattern"},
		{"a computed function", "$(call $(E),include x)", "make", evil},
		{"a computed function in braces", "${call\t$E,include x}", "make", evil},
		{"a call of eval with two spaces", "$(call  eval,include x)", "make", evil},
		{"a call of eval over two lines", "$(call\\\neval,include x)", "make", evil},
		{"a call of another function", "$(call f,$(X))", "make", "!GNUmakefile Makefile !makefile"},
		{"a second expansion", ".SECONDEXPANSION:\nall: $$$(X)", "make", evil},
		{"a zero byte", "inc\x00\nlude x", "make", "error: not a text"},
		{"a space that is none", "include a\u00a0b", "make", "error: a variable or a pattern"},
		{"a directory of sources", "VPATH = sub", "make", "error: VPATH"},
		{"a directory of sources for a pattern", "vpath %.sh sub", "make", "error: VPATH"},
		{"makefiles of the command line", "all:", "make MAKEFILES=x", "error: a variable among its arguments"},
		{"options of the command line", "all:", "make MAKEFLAGS+=-Ix", "error: a variable among its arguments"},
		{"a variable of the command line", "all: ; $(X)", "make X=$(eval\tinclude) x", evil},
		{"a directory of includes", "MAKEFLAGS += -rIsub", "make", "error: MAKEFLAGS"},
		{"a long option for includes", "export MAKEFLAGS = -r --include-dir=sub", "make", "error: MAKEFLAGS"},
		{"a text that make evaluates", "all: ; true\nMAKEFLAGS:=--eval=include\\ x", "make", "error: MAKEFLAGS"},
		{"a computed option", "GNUMAKEFLAGS += $(X)", "make", "error: MAKEFLAGS"},
		{"harmless options", "MAKEFLAGS += -rR --no-print-directory --no-builtin-rules", "make", "!GNUmakefile Makefile !makefile"},
		{"a compose file on the standard input", "-: {}", "docker compose -f - up", "error: standard input"},
		{"an included file of any name", "include: [a.txt]", "docker compose -f Makefile up", "error: not called .yaml"},
		{"the variables of an included file", "include: [a/b.yaml]", "docker compose -f Makefile up", "!.env Makefile !a/.env !a/b.yaml"},
		{"files of two directories", "include: [{path: [a/b.yaml, c/d.yaml]}]", "docker compose -f Makefile up", "error: several directories"},
		{"a file of labels", "services: {a: {label_file: l}}", "docker compose -f Makefile up", "!.env Makefile !l"},
		{"an extended file behind a tag", "services: {a: {extends: {!x file: b.yaml, service: c}}}", "docker compose -f Makefile up", "error: tag"},
		{"an included file behind a tag", "include: [{!x path: b.yaml}]", "docker compose -f Makefile up", "error: tag"},
		{"a file of variables behind a tag", "services: {a: {env_file: [{!x path: b}]}}", "docker compose -f Makefile up", "error: tag"},
		{"an extended file in a list with a tag", "services: {a: {extends: !override {file: b.yaml, service: c}}}", "docker compose -f Makefile up", "!.env Makefile !b.yaml"},
		{"a repository", "include: [github.com/a/b.yaml]", "docker compose -f Makefile up", "error: URL"},
		{"a repository on the command line", "", "docker compose -f github.com/a/b.yaml up", "error: address of a repository"},
		{"an image on the command line", "", "docker compose -f oci://a/b up", "error: address of a repository"},
		{"variables of an include", "include: [{path: b.yaml, env_file: c}]", "docker compose -f Makefile up", "error: env_file of its own"},
		{"a provider", "services: {a: {provider: {type: ./b}}}", "docker compose -f Makefile up", "error: a provider"},
		{"a seccomp profile", "services: {a: {security_opt: ['seccomp:./unconfined']}}", "docker compose -f Makefile up", "error: security_opt"},
		{"no seccomp profile", "services: {a: {security_opt: ['seccomp:unconfined', label:disable]}}", "docker compose -f Makefile up", "!.env Makefile"},
		{"an equals sign", "", "docker compose -f=Makefile up", "!.env Makefile"},
		{"another directory", "", "docker compose --project-directory github.com up", "error: --project-directory"},
		{"the same directory", "", "docker compose --project-directory ./ up", "error: no compose file"},
	} {
		at := tree(t, "Makefile", tt.text+"\n", "-", "services: {}\n", "github.com/a/b.yaml", "services: {}\n", "oci:/a/b", "services: {}\n", "=Makefile", "services: {}\n")
		s, err := find(t, at, Command{Args: strings.Split(tt.args, " "), Confined: true})
		switch why, bad := strings.CutPrefix(tt.want, "error: "); {
		case bad && (err == nil || !strings.Contains(err.Error(), why)):
			t.Errorf("%s: error %v, want %q", tt.name, err, why)
		case !bad && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case !bad && shown(s) != tt.want:
			t.Errorf("%s: %s, want %s", tt.name, shown(s), tt.want)
		}
	}
}

// TestLargeInputs checks inputs that would need much more memory or time than they have bytes.
//
// Attack 279.
func TestLargeInputs(t *testing.T) {
	var keys, sub strings.Builder
	for i := 0; keys.Len() < 200<<10; i++ {
		fmt.Fprintf(&keys, "%x,", i)
	}
	fmt.Fprint(&sub, "DIRC\x00\x00\x00\x04\x00\x00\xf0\x00")
	for range 0xf000 { // each name is one byte longer than the one before
		sub.WriteString(strings.Repeat("\x00", entryMode) + "\x00\x00\xe0\x00" + strings.Repeat("\x00", entryName-entryMode-4) + "\x00a\x00")
	}
	sub.WriteString(strings.Repeat("\x00", indexSum))
	at := tree(t, "list.yaml", "x: ["+strings.Repeat("a,", 1<<20)+"]", "keys.yaml", "services: {a: {extends: {"+keys.String()+"}}}",
		".git/config", "", ".git/index", sub.String())
	for _, tt := range []struct{ line, want string }{
		{"docker compose -f list.yaml up", "more than 256 KiB"},
		{"docker compose -f keys.yaml up", "2000 keys"},
		{"git status", "more than 4 MiB"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := find(t, at, Command{Args: strings.Split(tt.line, " "), Confined: true})
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.line, err, tt.want)
		}
		if size := after.TotalAlloc - before.TotalAlloc; size > 150<<20 {
			t.Errorf("%s: %d MiB of memory", tt.line, size>>20)
		}
	}
}

// TestFindScript checks command lines that seem to run a script called x, and that run the script y.
//
// Attack 275.
func TestFindScript(t *testing.T) {
	at := tree(t, "x", "", "y", "", "pipefail", "", "+", "", "inspect", "", "-e", "")
	for _, line := range []string{
		"bash -oe pipefail y", "dash -oe pipefail y", "bash -Oe pipefail y", "bash +oe pipefail y", "bash + y", "sh -e + y", "zsh -b -e y", "mksh -T x y",
		"node inspect y", "node debug y",
	} {
		if s, err := find(t, at, Command{Args: strings.Split(line, " ")}); err == nil {
			t.Errorf("%s: %s, want an error", line, shown(s))
		}
	}
	for _, line := range []string{"bash -eo pipefail x", "bash -O extglob -e x", "zsh -eu x", "dash +e x", "node x inspect"} {
		if s, err := find(t, at, Command{Args: strings.Split(line, " ")}); err != nil || shown(s) != "x" {
			t.Errorf("%s: %v, %v, want x", line, s, err)
		}
	}
}

// TestChanges checks that each way to change what runs also changes the digest, or leaves no inputs.
//
// Attack 266.
func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(at string) error
	}{
		{"by a write", func(at string) error { return os.WriteFile(at+"/Makefile", []byte("all: ; evil\n"), 0o600) }},
		{"by a rename", func(at string) error { return os.Rename(at+"/other", at+"/Makefile") }},
		{"by a link", func(at string) error {
			return unix.Renameat2(unix.AT_FDCWD, at+"/link", unix.AT_FDCWD, at+"/Makefile", unix.RENAME_EXCHANGE)
		}},
		{"by a pipe", func(at string) error {
			return unix.Renameat2(unix.AT_FDCWD, at+"/pipe", unix.AT_FDCWD, at+"/Makefile", unix.RENAME_EXCHANGE)
		}},
		{"by a huge file", func(at string) error { return os.Truncate(at+"/Makefile", 1<<40) }},
		{"by a makefile that make prefers", func(at string) error { return os.WriteFile(at+"/GNUmakefile", nil, 0o600) }},
		{"by an include that appears", func(at string) error { return os.WriteFile(at+"/dep.mk", nil, 0o600) }},
	} {
		at := tree(t, "Makefile", "-include dep.mk\nall: ; true\n", "other", "all: ; evil\n")
		if err := os.Symlink("other", at+"/link"); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkfifo(at+"/pipe", 0o600); err != nil {
			t.Fatal(err)
		}
		c := Command{Args: []string{"make"}, Confined: true}
		before, err := find(t, at, c)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := find(t, at, c); err != nil || again.Digest() != before.Digest() {
			t.Errorf("%s: the digest changes by itself, %v", tt.name, err)
		}
		if err := tt.change(at); err != nil {
			t.Fatal(err)
		}
		if now, err := find(t, at, c); err == nil && now.Digest() == before.Digest() {
			t.Errorf("%s: the digest is as before", tt.name)
		}
	}
}

func TestDiff(t *testing.T) {
	set := func(files ...File) *Set { return &Set{Files: files} }
	file := func(name, content string) File {
		return File{Path: name, Size: int64(len(content)), SHA256: sum([]byte(content)), Content: []byte(content)}
	}
	long := strings.Repeat("x\n", 100000)
	for _, tt := range []struct {
		before, now *Set
		want        []string
	}{
		{set(file("a", "1\n\t2\n")), set(file("a", "1\n\t3\x1b[2J\n")), []string{"--- approved: a\n+++ now: a\n", "-\t2\n", `"+\t3\x1b[2J"` + "\n"}},
		{set(file("a", "1\n")), set(file("a", "1\n")), []string{""}},
		{set(File{Path: "a", Absent: true}), set(file("a", "")), []string{"--- approved: no a\n+++ now: a\n"}},
		{set(file("a", "x")), set(file("a", "\x00")), []string{"not a text"}},
		{set(file("a", long)).Kept(), set(file("a", "x")), []string{"too long to compare: 200000 bytes before, 1 now"}},
		{set(file("a", "")), set(file("a", long[:60000])), []string{"more lines are not shown"}},
		{set(file("a", "x\n")), set(file("a", strings.Repeat("y\n", 4<<20))), []string{"too long to compare: 2 bytes before, 8388608 now"}},
	} {
		got := Diff(tt.before, tt.now)
		for _, want := range tt.want {
			if !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("Diff = %q, want %q", got, want)
			}
		}
		if len(got) > maxDiffBytes+200 || strings.Count(got, "\n") > maxDiffLines+1 {
			t.Errorf("%d bytes, %d lines", len(got), strings.Count(got, "\n"))
		}
	}
}

// TestOperandTwice names a copied operand twice. The set of inputs would have two files with one name.
func TestOperandTwice(t *testing.T) {
	at := t.TempDir()
	put(t, filepath.Join(at, "copy"), "all:\n")
	c := Copy{Name: "a.mk", Path: filepath.Join(at, "copy")}
	_, err := find(t, at, Command{Args: []string{"make", "-f", "a.mk", "-f", "a.mk"}, Copies: map[int]Copy{2: c, 4: c}, Confined: true})
	if err == nil || !strings.Contains(err.Error(), "a.mk is named twice") {
		t.Errorf("Find = %v, want an error", err)
	}
}
