// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filesRules has a command of each kind whose files decide what runs. TOOLS has programs in the place of npm and
// docker.
const filesRules = `version: 1
commands:
  make: {where: sandbox, rules: [{id: any, do: ask, argv: [{args: '[a-z]+', max: 2}]}]}
  npm: {where: sandbox, exec: TOOLS/npm, sandbox: {read: [TOOLS]}, rules: [{id: any, do: ask, argv: [run, test]}]}
  docker: {exec: TOOLS/docker, rules: [{id: up, do: ask, argv: [compose, {args: '[a-z-]+', max: 2}]}]}
  sh: {where: sandbox, rules: [{id: any, do: ask, argv: [{path: ws, type: file}]}]}
  git: {where: sandbox, rules: [{id: any, do: ask, argv: [rev-parse, --is-inside-work-tree]}]}
  cat: {rules: [{id: any, do: ask, effects: [read], inputs: ['src/**/*.c', list], argv: [src/a.c]}]}
  hostmake: {exec: /usr/bin/make, rules: [{id: any, do: ask, argv: [all]}]}
`

// TestIntegrationUnchangedFiles approves a call of each kind while its files are unchanged. Unchanged, it runs unasked.
// After each change to a file, or when a file appears that would be read, the question returns with the diff.
//
// Attacks 264, 266.
func TestIntegrationUnchangedFiles(t *testing.T) {
	h := newHost(t, false)
	if !sandboxed(t, h) {
		return
	}
	tools := filepath.Join(h.Home, "tools")
	h.mkdir(t, tools)
	for _, name := range []string{"npm", "docker"} {
		h.Write(t, tools, name, "#!/bin/sh\necho "+name+" ran\n", 0o755)
	}
	c := ruled(t, h, strings.ReplaceAll(filesRules, "TOOLS", tools))
	approver(t, h)
	waitUntilAsked(t, c, "hostexec", "make", "nothing")
	for i, tt := range []struct {
		call    string
		files   []string // names and contents
		out     string
		changed []string // name and content
		diff    string
	}{
		{"make all", []string{"Makefile", "include a.mk\nall:\n\t@echo $(X)\n", "a.mk", "X = made\n"}, "made\n", []string{"a.mk", "X = evil\n"}, "-X = made\n+X = evil\n"},
		{"make all", []string{"Makefile", "all:\n\t@echo made\n"}, "made\n", []string{"GNUmakefile", "all:\n\t@echo evil\n"}, "+++ now: GNUmakefile\n"},
		{"npm run test", []string{"package.json", "{\"scripts\": {}}\n", "package-lock.json", "{}\n"}, "npm ran\n", []string{"package-lock.json", "{\"evil\": 1}\n"}, "+{\"evil\": 1}\n"},
		{"npm run test", []string{"package.json", "{}\n"}, "npm ran\n", []string{".npmrc", "registry=http://evil\n"}, "--- approved: no .npmrc\n"},
		{"docker compose up", []string{"compose.yaml", "include: [inc.yaml]\n", "inc.yaml", "services: {}\n"}, "docker ran\n", []string{"inc.yaml", "services: {evil: {}}\n"}, "+services: {evil: {}}\n"},
		{"docker compose up", []string{"compose.yaml", "services: {}\n"}, "docker ran\n", []string{".env", "IMAGE=evil\n"}, "--- approved: no .env\n+++ now: .env\n"},
		{"docker compose up", []string{"compose.yaml", "services: {}\n"}, "docker ran\n", []string{"compose.override.yaml", "services: {evil: {}}\n"}, "--- approved: no compose.override.yaml\n"},
		{"git rev-parse --is-inside-work-tree", []string{".git/HEAD", "ref: refs/heads/main\n", ".git/config", "[core]\n", ".git/objects/info/x", "", ".git/refs/heads/x", ""}, "true\n",
			[]string{".gitmodules", "[submodule \"x\"]\n"}, "--- approved: no .gitmodules\n"},
		{"sh run.sh", []string{"run.sh", "echo ran\n"}, "ran\n", []string{"run.sh", "echo evil\n"}, "-echo ran\n+echo evil\n"},
		{"cat src/a.c", []string{"src/a.c", "a\n"}, "a\n", []string{"src/deep/b.c", "b\n"}, "--- approved: no src/deep/b.c\n"},
		{"cat src/a.c", []string{"src/a.c", "a\n"}, "a\n", []string{"list", "x\n"}, "--- approved: no list\n"},
	} {
		dir := "/w/" + string(rune('a'+i)) // a call of its own
		put := func(files []string) {
			for n := 0; n < len(files); n += 2 {
				at := filepath.Join(h.Work, filepath.Base(dir), files[n])
				check(t, os.MkdirAll(filepath.Dir(at), 0o755))
				h.Write(t, filepath.Dir(at), filepath.Base(at), files[n+1], 0o644)
			}
		}
		put(tt.files)
		args := append([]string{"sh", "-c", `cd "$0" && exec hostexec "$@"`, dir}, strings.Fields(tt.call)...)
		word := args[len(args)-1]
		call := c.Start(t, args...)
		id := pending(t, h, word, 1)[0].ID
		h.Must(t, "hostexec", "approve", "--while-unchanged", id)
		want(t, tt.call, call.Ended(t).Out, tt.out)
		c.unasked(t, tt.out, args...)
		put(tt.changed)
		call = c.Start(t, args...)
		id = pending(t, h, word, 1)[0].ID
		if diff := c.diff(t, id); !strings.Contains(diff, tt.diff) {
			t.Errorf("%s with %s: the diff is %q, want %q", tt.call, tt.changed[0], diff, tt.diff)
		}
		h.Must(t, "hostexec", "deny", id)
		if r := call.Ended(t); r.Code != 126 || r.Out != "" {
			t.Errorf("%s with %s: %v", tt.call, tt.changed[0], r)
		}
	}
	call := c.Start(t, "hostexec", "hostmake", "all")
	id := pending(t, h, "hostmake", 1)[0].ID
	if r := h.Docker(t, "hostexec", "approve", "--while-unchanged", id); r.Code != 1 || !strings.Contains(r.Err, "where: sandbox") {
		t.Errorf("make on the host: %v", r)
	}
	h.Must(t, "hostexec", "deny", id)
	call.Ended(t)
}

// diff returns the diff of the question id.
func (c *Container) diff(t *testing.T, id string) string {
	t.Helper()
	code, body := c.control(t, "GET", "/pending/"+id)
	want(t, "GET /pending/"+id, code, 200)
	var q struct{ Diff string }
	check(t, json.Unmarshal([]byte(body), &q))
	return q.Diff
}

// TestIntegrationWatchUnchanged types u in docker hostexec pending --watch, and sees the diff after a change.
func TestIntegrationWatchUnchanged(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	m := approver(t, h)
	waitUntilAsked(t, c, "hsh", "-c", "exit 0")
	h.Write(t, h.Work, "run.sh", "echo one\n", 0o644)
	call := c.Start(t, "hsh", "run.sh")
	m.Expect(t, "  files    run.sh (not bound: what the script reads, imports or runs)\r\n")
	m.Expect(t, "u while its files are unchanged, ")
	m.Type(t, "u")
	m.Expect(t, "Runs, each time while its files are unchanged, in this session.")
	want(t, "stdout", call.Ended(t).Out, "one\n")
	c.unasked(t, "one\n", "hsh", "run.sh")
	h.Write(t, h.Work, "run.sh", "printf '\\033[2J'\n\x1b[2J\n", 0o644)
	call = c.Start(t, "hsh", "run.sh")
	m.Expect(t, "Changed since you approved it:\r\n")
	m.Expect(t, "  | -echo one\r\n  | +printf '\\033[2J'\r\n  | \"+\\x1b[2J\"\r\n")
	m.Expect(t, "n or Enter refuses it")
	m.Type(t, "n")
	want(t, "code", call.Ended(t).Code, 126)
	call = c.Start(t, "hsh", "-c", "echo x")
	m.Expect(t, "  no u     nothing says which files the option -c reads\r\n")
	m.Expect(t, "y runs it once, a for this session, n or Enter refuses it, ")
	m.Type(t, "u")
	m.Type(t, "n")
	want(t, "code without files", call.Ended(t).Code, 126)
}
