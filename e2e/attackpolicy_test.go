// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Attacks on what decides: rules, programs, operands, and what a workspace proposes. What
// stands below is asked of the real engine; attacks that need none are tested in their rooms,
// and attacks.md says where.

// hostWithCanary is a person of whom no other test knows, with a file that nobody but the person may
// touch, and whose bytes and mode are as they were in the end.
func hostWithCanary(t *testing.T) (h *Host, canary string) {
	t.Helper()
	h = newHost(t, os.Getuid() == 0)
	canary = h.Write(t, h.Home, "canary", "sings\n", 0o640)
	t.Cleanup(func() {
		fi, err := os.Lstat(canary)
		check(t, err)
		if text := string(readFile(t, canary)); text != "sings\n" || fi.Mode() != 0o640 {
			t.Errorf("the canary is %q, %v", text, fi.Mode())
		}
	})
	return h, canary
}

// TestIntegrationAttackArguments sends calls that nearly match rules. The program records its
// calls: only allowed ones appear.
//
// Attacks 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 61, 63, 64.
func TestIntegrationAttackArguments(t *testing.T) {
	h, canary := hostWithCanary(t)
	log := filepath.Join(h.Home, "called")
	tool := h.Write(t, h.Home, "tool", "#!/bin/sh\nprintf '<%s>' \"$@\" >> "+log+"; echo >> "+log+"\n", 0o755)
	c := ruled(t, h, `version: 1
commands:
  tool:
    exec: `+tool+`
    rules:
      - {id: status, do: allow, effects: [read], argv: [status, {flags: [-s, --short]}]}
      - {id: log, do: allow, effects: [read], argv: [log, {opts: {-n: '[0-9]{1,4}'}}, {args: '[a-z]{1,10}', max: 1}]}
      - {id: any, do: allow, effects: [read], argv: [{any: [view, list]}, {re: 'git status|git log'}]}
      - {id: never, do: deny, argv: [list, git log]}
      - {id: file, do: allow, effects: [read], argv: [cat, {path: ws, type: file}]}
approval:
  auto_approve: ['^echo fine$', '^git status|git log$']
`)
	h.Write(t, h.Work, "f", "", 0o644)
	check(t, os.Symlink(canary, filepath.Join(h.Work, "link")))
	check(t, os.Link(h.Write(t, h.Work, "g", "", 0o644), filepath.Join(h.Work, "hard")))
	good := `status -s|status --short -s|log -n 5 main|log -n 5|view git status|cat f|cat hard|cat ./f`
	bad := `|STATUS|status -s -x|status --sho|status -ss|status -s --|status -- -s|-s status|-c core.sshCommand=id status|--exec-path=/x status` +
		`|log -n5x|log -n=5|log -n -n|log -n --output=x|log --output=x|log main -n 5|log -n 5 -x|log @file|log main other` +
		`|view git statusx|view xgit log|view git status;id|view git status$(id)|list git log|view "git|view git"` +
		`|cat link|cat /etc/passwd|cat ../canary|cat f/../../canary|cat .|cat -- f|cat -f|cat ` + canary + `|cat f f|cat /proc/self/environ|cat file:///etc/passwd`
	script := `IFS='|'; for line in $1; do IFS=' ' read -ra argv <<< "${line//git status/git@status}"; argv=("${argv[@]//git@status/git status}"); hostexec -- tool "${argv[@]//git@log/git log}" </dev/null 2>/dev/null; echo $?; done`
	if r := c.Sh(t, script, good); strings.Trim(r.Out, "0\n") != "" {
		t.Errorf("what is allowed: %v", r)
	}
	called := string(readFile(t, log))
	want(t, "calls", strings.Count(called, "\n"), strings.Count(good, "|")+1)
	if r := c.Sh(t, script, bad); strings.Contains("\n"+r.Out, "\n0\n") {
		t.Errorf("what is not: %v", r)
	}
	for _, odd := range []string{`$'status\n'`, `$'status\r'`, `$'st\xe1tus'`, `$'prod\xff'`, `$'status\e[2J'`, `' status'`, `'status -s'`, `''`, `$'\u0430pt'`} {
		if r := c.Sh(t, `hostexec -- tool `+odd); r.Code != 126 {
			t.Errorf("tool %s: %v", odd, r)
		}
	}
	for _, line := range []string{`rm -rf / 'git log'`, `sh -c 'echo fine'`, `echo fine '# x'`, `echo $'fine\n'`, `'echo fine'`, `env echo fine`, `tool`, `TOOL status`, `./tool status`, `../tool status`, `'tool ' status`, `/bin/echo fine`} {
		if r := c.Sh(t, `hostexec -- `+line); r.Code != 126 && r.Code != 127 {
			t.Errorf("%s: %v", line, r)
		}
	}
	want(t, "how the program was called", string(readFile(t, log)), called)
	want(t, "fine", c.Exec(t, "hostexec", "echo", "fine").Out, "fine\n")
}

// TestIntegrationAttackProgram checks rules that name programs that the container can change,
// directly and through links.
//
// Attack 62.
func TestIntegrationAttackProgram(t *testing.T) {
	h, _ := hostWithCanary(t)
	h.mkdir(t, filepath.Join(h.Work, "bin"))
	h.Write(t, h.Work, "tool", "#!/bin/sh\necho RAN\n", 0o755)
	check(t, os.Symlink("work/bin", filepath.Join(h.Home, "bin")))
	check(t, os.Symlink("/bin/echo", filepath.Join(h.Work, "bin", "between")))
	check(t, os.Symlink(filepath.Join(h.Work, "tool"), filepath.Join(h.Home, "to")))
	rule := "\n    rules: [{id: r, do: allow, accept: host-code-execution, argv: [RAN]}]"
	c := ruled(t, h, "version: 1\ncommands:\n  direct:\n    exec: "+h.Work+"/tool"+rule+"\n  to:\n    exec: "+h.Home+"/to"+rule+
		"\n  between:\n    exec: "+h.Home+"/bin/between"+rule+"\n  echo:\n    exec: /bin/echo"+rule+"\n")
	for _, name := range []string{"direct", "to", "between"} {
		if r := c.Exec(t, "hostexec", name, "RAN"); r.Out != "" || r.Code != 126 || !strings.Contains(r.Err, "the container could change") {
			t.Errorf("%s: %v", name, r)
		}
	}
	want(t, "a program that it cannot", c.Exec(t, "hostexec", "echo", "RAN").Out, "RAN\n")
}

// TestIntegrationAttackOperand exchanges a script with a link to the canary and with other files,
// as fast as possible, while the script is called. A copy of the script runs.
//
// Attack 65.
func TestIntegrationAttackOperand(t *testing.T) {
	h, canary := hostWithCanary(t)
	check(t, os.WriteFile(canary, []byte("sings\n"), 0o640))
	c := ruled(t, h, `version: 1
commands:
  sh:
    exec: /bin/sh
    rules: [{id: s, do: allow, accept: host-code-execution, argv: [{path: ws, type: file, snapshot: true}]}]
`)
	h.Write(t, h.Work, "good", "echo good\n", 0o644)
	// The racer ends between two rounds: killed, it would leave a child that goes on.
	r := c.Long(t, `cp good s; (trap 'over=1' TERM; until [ "$over" ]; do
		ln -sf "$1" t; mv -T t s; cp good t; mv -T t s; mkfifo t; mv -T t s; cp good t; mv -T t s; done 2>/dev/null) & racer=$!
		for i in {1..60}; do timeout 20 hostexec sh s 2>/dev/null; echo $?; done; kill $racer; wait $racer 2>/dev/null; cp --remove-destination good s; hostexec sh s`, canary)
	for line := range strings.Lines(r.Out) {
		if line = strings.TrimSpace(line); line != "good" && line != "0" && line != "126" {
			t.Errorf("one call said %q", line)
		}
	}
	t.Logf("%d of 60 ran, %d were refused", strings.Count(r.Out, "good\n")-1, strings.Count(r.Out, "126\n"))
	if !strings.HasSuffix(r.Out, "good\n") {
		t.Errorf("without a race: %v", r)
	}
	left, err := filepath.Glob(filepath.Join(h.State, "sessions", c.Session, "scratch", "*"))
	check(t, err)
	want(t, "copies that are left", len(left), 0)
}

// TestIntegrationAttackGitDir tries to write a .git that is mounted read-only: through another
// mount of it, through a mount of a part of it, and by replacing it.
//
// Attacks 88, 89.
func TestIntegrationAttackGitDir(t *testing.T) {
	h, _ := hostWithCanary(t)
	real := find(t, "git")
	git := h.Write(t, h.Home, "git", "#!/bin/sh\ncase $* in *status) cat .git/mark;; *) exec "+real+" \"$@\";; esac\n", 0o755)
	h.Write(t, h.State, "config.yaml", "version: 1\ncommands:\n  git:\n    exec: "+git+"\n    gitdir: ro-mount\n    rules: [{id: s, do: allow, effects: [read], argv: [status]}]\n", 0o600)
	for _, name := range []string{"", "sub", "evil", "plain"} {
		if r := h.feed(t, "", real, "init", "-q", filepath.Join(h.Work, name)); r.Code != 0 {
			t.Fatalf("git init: %v", r)
		}
	}
	for name, mark := range map[string]string{".git": "good", "sub/.git": "good", "evil/.git": "EVIL", "plain/.git": "EVIL"} {
		h.Write(t, filepath.Join(h.Work, name), "mark", mark+"\n", 0o644)
	}
	check(t, os.Chmod(filepath.Join(h.Work, ".git", "hooks"), 0o777))
	start := func(mounts ...string) *Container {
		args := []string{"-v", h.Work + ":/w", "-w", "/w"}
		for _, m := range mounts {
			args = append(args, "-v", h.Work+m)
		}
		return h.Detached(t, append(args, image(t, "full"), "/probe", "hold")...)
	}
	guard, sub := "/.git:/w/.git:ro", "/sub/.git:/w/sub/.git:ro"
	c := start(guard, sub)
	want(t, "as it should be", c.Exec(t, "hostexec", "git", "status").Out, "good\n")
	for name, mounts := range map[string][]string{"no mount": {sub}, "the workspace twice": {guard, ":/again"}, "its hooks elsewhere": {guard, "/.git/hooks:/hooks"}} {
		other := start(mounts...)
		if r := other.Exec(t, "timeout", "20", "hostexec", "git", "status"); r.Out != "" || r.Code != 126 {
			t.Errorf("%s: %v", name, r)
		}
		other.removed(t) // it can write the .git directories of the first one, too
	}
	want(t, "a planted one", c.Sh(t, "cd plain; timeout 20 hostexec git status 2>/dev/null").Code, 126)
	r := c.Long(t, `(trap 'over=1' TERM; until [ "$over" ]; do mv -T sub x; mv -T evil sub; mv -T sub evil; mv -T x sub; done) & racer=$!
		for ((i = ran = 0; i < 30 || SECONDS < 60 && ran < 3; i++)); do said=$(cd sub 2>/dev/null && timeout 20 hostexec git status 2>/dev/null; echo $?); echo "$said"; [[ $said != good* ]] || ((ran++)); done
		kill $racer; wait $racer; cd sub; hostexec git status`)
	if strings.Contains(r.Out, "EVIL") || !strings.HasSuffix(r.Out, "good\n") {
		t.Errorf("another directory in its place: %v", r)
	}
	ran := strings.Count(r.Out, "good\n") - 1
	t.Logf("%d of %d ran, %s", ran, strings.Count(r.Out, "\n")-ran-1, r.Err)
	if ran < 3 {
		t.Errorf("%d calls ran while it was exchanged: a race in which none does proves nothing", ran)
	}
}

// TestIntegrationAttackProposal changes the configuration that the workspace proposes before, after
// and between the user's decisions to trust it.
//
// Attack 68.
func TestIntegrationAttackProposal(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := h.Detached(t, "--workspace="+h.Work, "--proxy", "htrue="+find(t, "true"), image(t, "full"), "/probe", "hold")
	file := filepath.Join(h.Work, ".hostexec.yaml")
	propose := func(word string) {
		t.Helper()
		if r := c.Sh(t, `rm -rf "$1"; printf "version: 1\napproval: {auto_approve: ['^echo %s$']}\n" "$2" > "$1"; chmod 666 "$1"`, file, word); r.Code != 0 {
			t.Fatalf("propose: %v", r)
		}
	}
	counts := func(word string) bool { return c.Sh(t, `cd "$1"; hostexec echo `+word, h.Work).Out == word+"\n" }
	propose("one")
	want(t, "it counts unseen", counts("one"), false)
	h.Must(t, "hostexec", "trust", "--force", h.Work)
	want(t, "it counts when it was trusted", counts("one"), true)
	propose("evil")
	want(t, "what the container made of it counts", counts("evil") || counts("one"), false)
	propose("two")
	h.Must(t, "hostexec", "trust", "--force", h.Work)
	want(t, "the next one counts", counts("two"), true)
	propose("one")
	want(t, "what was trusted before counts", counts("one"), false)
	for name, script := range map[string]string{
		"a link": `ln -s /etc/passwd "$1"`, "a pipe": `mkfifo "$1"`, "a device": `mknod "$1" c 240 77`, "endless": `mknod "$1" c 1 5`, "a directory": `mkdir "$1"`, "large": `truncate -s 10G "$1"`,
	} {
		r := c.Sh(t, `rm -rf "$1"; `+script+`; timeout 20 htrue`, file)
		if _, err := os.Lstat(file); err != nil || r.Code != 126 && r.Code != 0 {
			t.Errorf("%s in its place: %v, %v", name, r, err)
		}
		if c.Sh(t, `cd "$1"; timeout 20 htrue`, h.Work).Code != 0 {
			t.Errorf("with %s in its place nothing runs", name)
		}
	}
	if log := h.Must(t, "hostexec", "logs", c.Session); strings.Contains(log, "root:x:") || strings.Contains(log, syscall.ENXIO.Error()) {
		t.Errorf("it was followed, or opened: %s", log)
	}
}

// TestIntegrationAttackFlood asks more questions than a person can read: five wait, the others are
// refused at once, and calls without a question are served meanwhile.
//
// Attack 140.
func TestIntegrationAttackFlood(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := ruled(t, h, "version: 1\napproval: {wait: always, auto_approve: ['^echo ok$']}\n", "--proxy", "hsh=ask,path=/bin/sh")
	call := c.Start(t, "bash", "-c", `for i in {1..60}; do (timeout 100 hsh -c "echo RAN$i" 2>/dev/null; echo $?) & done; wait`)
	for range 55 {
		want(t, "code of one too many", call.Line(t), "126")
	}
	all := pending(t, h, "RAN", 5)
	want(t, "another call", c.Exec(t, "hostexec", "echo", "ok").Out, "ok\n")
	for _, q := range all {
		h.Must(t, "hostexec", "deny", q.ID)
	}
	r := call.Ended(t)
	want(t, "what the others say", r.Out, strings.Repeat("126\n", 5))
	if r := c.Sh(t, fmt.Sprintf("timeout 20 %s", all[0].Command)); r.Code != 126 || !strings.Contains(r.Err, "denied a moment ago") {
		t.Errorf("asked again at once: %v", r)
	}
	want(t, "STARTs", len(h.Audit(t, "HOSTEXEC START", "RAN")), 0)
}
