// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileResults are the results of the hostile program: an error for each act, or "" if the act has succeeded.
type hostileResults map[string]string

const (
	leavesProcess = "leave a process that outlives the call"
	outlives      = "a process that outlives the session"
)

// call makes a call, on a terminal, that runs the hostile program, and returns its results.
func (x *hostile) call(t *testing.T, c, other *Container, args ...string) hostileResults {
	t.Helper()
	x.aim(t, c, other)
	m := c.Term(t, args...)
	m.Wait(t)
	r := x.results(t)
	if r == nil {
		t.Fatalf("%q did not run the hostile program: %q", args, m.seen)
	}
	if _, ok := r[leavesProcess]; ok && len(x.left()) == 0 {
		r[leavesProcess] = "ended"
	}
	return r
}

// results reads the results of the last call, or nil.
func (x *hostile) results(t *testing.T) (r hostileResults) {
	t.Helper()
	text := readFile(t, filepath.Join(x.Work, "out.json"))
	if text == nil {
		return nil
	}
	check(t, json.Unmarshal(text, &r))
	return r
}

// left lists the processes that the hostile program has left.
func (x *hostile) left() []int { return processes("leaf ignore", x.targets["Abstract"].(string)) }

// outlive makes a call that leaves a process and kills the watcher and the keeper, and ends the session.
func (x *hostile) outlive(t *testing.T, c, other *Container, args ...string) hostileResults {
	t.Helper()
	x.aim(t, c, other)
	watcher, keeper := x.Watcher(t, c.Session), x.Keeper(t, c.Session)
	c.Exec(t, args...)
	x.Docker(t, "rm", "-f", c.ID)
	watcher.Ends(t, leaves)
	keeper.Ends(t, grace+leaves)
	r := hostileResults{outlives: ""}
	if x.killLeft(t) == 0 {
		r[outlives] = "ended"
	}
	return r
}

// killLeft kills the processes that the hostile program has left, and returns their number.
func (x *hostile) killLeft(t *testing.T) int {
	t.Helper()
	left := x.left()
	for _, pid := range left {
		p, err := os.FindProcess(pid)
		check(t, err)
		check(t, p.Kill())
	}
	return len(left)
}

// impossible has the acts that fail on this host without a sandbox, too, and why.
func (x *hostile) impossible(t *testing.T) map[string]string {
	list := map[string]string{"gain privileges by a setuid program": "a command has no_new_privs"}
	if x.cred == nil {
		return list
	}
	setting := func(name string) string { return strings.TrimSpace(string(readFile(t, "/proc/sys/"+name))) }
	if v := setting("kernel/yama/ptrace_scope"); v != "" && v != "0" {
		for _, act := range []string{"trace the watcher (ptrace)", "read its memory", "take its descriptor (pidfd_getfd)"} {
			list[act] = "kernel.yama.ptrace_scope=" + v
		}
	}
	if setting("dev/tty/legacy_tiocsti") == "0" {
		list["type into its terminal (TIOCSTI)"] = "dev.tty.legacy_tiocsti=0"
	}
	for _, s := range []string{"kernel/unprivileged_userns_clone=0", "user/max_user_namespaces=0", "kernel/apparmor_restrict_unprivileged_userns=1"} {
		if name, v, _ := strings.Cut(s, "="); setting(name) == v {
			list["create a namespace with all capabilities"] = s
		}
	}
	return list
}

// TestIntegrationAttackModes has the files of a workspace run a hostile program by six tools: on the host, where its
// acts succeed, and in a sandbox, in a container, and by git-push, where they fail. It prints a row for each act, and
// compares the rows with tables/modes.md.
//
// Attack 269.
func TestIntegrationAttackModes(t *testing.T) {
	t.Parallel() // most of it is waiting
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			x := newHostile(t, h.cred != nil)
			if !sandboxed(t, x.Host) {
				return
			}
			other := x.Holding(t, "--proxy", "htrue=/bin/true")
			x.compare(t, []hostileResults{x.onHost(t, other), x.inSandbox(t, other), x.inContainer(t, other, ""),
				x.inContainer(t, other, ",network=none"), x.byGitPush(t)})
		})
	}
}

// onHost is the control: each act succeeds, by each tool.
func (x *hostile) onHost(t *testing.T, other *Container) hostileResults {
	c, all, impossible := x.Holding(t, x.flags(t, "")...), hostileResults{}, x.impossible(t)
	for _, e := range hostileEntries {
		for act, failed := range x.call(t, c, other, strings.Fields(e.call)...) {
			if all[act] = failed; failed != "" && impossible[act] == "" {
				t.Errorf("%s on the host: %s: %s: this is no attack", e.name, act, failed)
			}
		}
	}
	p := x.Holding(t, "--allow-new-privs", "--proxy", "make")
	want(t, "with new privileges", x.call(t, p, other, "make")["gain privileges by a setuid program"], "")
	for act, failed := range x.outlive(t, c, other, "make", "outlive") {
		if all[act] = failed; failed != "" {
			t.Errorf("%s on the host: %s", act, failed)
		}
	}
	return all
}

func (x *hostile) inSandbox(t *testing.T, other *Container) hostileResults {
	c, all := x.Holding(t, x.flags(t, ",where=sandbox")...), hostileResults{}
	for _, e := range hostileEntries {
		for act, failed := range x.call(t, c, other, strings.Fields(e.call)...) {
			if all[act] = failed; failed == "" {
				t.Errorf("%s in a sandbox: %s", e.name, act)
			}
		}
		x.untouched(t)
	}
	if all[outlives] = x.outlive(t, c, other, "make", "outlive")[outlives]; all[outlives] == "" {
		t.Error("a process of a sandbox outlives the session")
	}
	return all
}

func (x *hostile) inContainer(t *testing.T, other *Container, network string) hostileResults {
	c := x.Holding(t, "--proxy", "csh=/bin/sh,where=container:"+image(t, "full")+network)
	all := x.call(t, c, other, "csh", "-c", hostileCall)
	if all[leavesProcess] == "" { // the engine ends a container a moment after its command
		eventually(t, leaves, "the container has ended", func() bool { return len(x.left()) == 0 })
		all[leavesProcess] = "ended"
	}
	x.untouched(t)
	all[outlives] = x.outlive(t, c, other, "csh", "-c", hostileCall+" outlive")[outlives]
	return all
}

// byGitPush pushes from a repository whose hooks and settings run the hostile program. The host's own git runs it.
func (x *hostile) byGitPush(t *testing.T) hostileResults {
	remote := gitHost(t, x.Host)
	c := gitContainer(t, x.Host)
	hook := "#!/bin/sh\ncd " + x.Work + " && " + hostileCall + "\nexit 0\n" // in a container there is no such directory
	if r := c.Sh(t, `cd /w/c; mkdir -p .git/hooks; for h in pre-push reference-transaction update pre-receive post-receive post-update; do printf "$1" >.git/hooks/$h; done
		printf "$1" >/w/hook; git config core.fsmonitor `+x.Work+`/hook; chmod -R a+rwX,a+x /w/hook .git/hooks; chmod -R a+rwX .`, hook); r.Code != 0 {
		t.Fatalf("write hooks: %v", r)
	}
	x.aim(t, nil, nil)
	if r := c.Sh(t, aCommit+"git push origin main:agent/x && git fetch -q"); r.Code != 0 {
		t.Errorf("push: %v", r)
	}
	if r := x.results(t); r != nil {
		t.Errorf("git-push ran a program of the workspace: %v", r)
	}
	x.untouched(t)
	if r := x.feed(t, "", "git", "-c", "safe.directory=*", "-C", filepath.Join(x.Work, "c"), "push", remote, "main:agent/y"); x.results(t) == nil {
		t.Errorf("the host's git runs no hook: this is no attack: %v", r)
	}
	x.killLeft(t)
	return nil
}

// compare prints the results, and compares them with tables/modes.md. A control that this host makes impossible may
// differ.
func (x *hostile) compare(t *testing.T, results []hostileResults) {
	got, impossible := hostileRows(results), x.impossible(t)
	_, text, ok := strings.Cut(read(t, "tables/modes.md"), "\n|---|---|---|---|---|\n")
	want(t, "tables/modes.md has a table", ok, true)
	var printed strings.Builder
	for row := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(row, "| \n"), " | ")
		printed.WriteString(got[cells[0]])
		if impossible[cells[0]] == "" && got[cells[0]] != row {
			t.Errorf("tables/modes.md: %s\twant %s", row, got[cells[0]])
		}
		delete(got, cells[0])
	}
	for _, row := range got {
		t.Errorf("tables/modes.md has no row %s", row)
	}
	fmt.Printf("as %s:\n%s", x.Name, printed.String())
}

// hostileRows returns a row for each act, from its results on the host, in a sandbox, in a container and in one without
// a network.
func hostileRows(results []hostileResults) map[string]string {
	rows := map[string]string{}
	for act := range results[0] {
		cells := make([]string, 4)
		for i, r := range results[:4] {
			if cells[i] = "fails"; r[act] == "" {
				cells[i] = "succeeds"
			}
		}
		if cells[2] != cells[3] {
			cells[2] += ", but " + cells[3] + " with `network=none`"
		}
		rows[act] = "| " + act + " | " + strings.Join(cells[:3], " | ") + " | is not run |\n"
	}
	return rows
}
