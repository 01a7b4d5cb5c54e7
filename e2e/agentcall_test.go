// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationAgentCalls calls commands of the host from an agent. Proxied commands run, and are
// decided and recorded under the agent's name. Nothing else runs.
func TestIntegrationAgentCalls(t *testing.T) {
	eachMode(t, func(t *testing.T, h *Host, mode string) {
		flags := append([]string{"--proxy", "hsh=/bin/sh", "--proxy", "banned=deny", "--proxy", "hp=" + probePath(t)}, echo(t, mode)...)
		a := h.Agent(t, agentArgs(t, mode, "busybox", flags...)...)
		want(t, "a command", a.ask(t, "run", `["hsh","-c","echo called; exit 7"]`), answered(`"called\n(7)"`))
		want(t, "one that is denied", a.ask(t, "run", `["banned"]`), answered(`"(126)"`))
		want(t, "one that is not there", a.ask(t, "run", `["hostexec","nosuch"]`), answered(`"(127)"`))
		ls := a.ask(t, "run", `["hostexec","ls"]`)
		want(t, "hostexec ls", strings.Contains(ls, "hsh") && strings.Contains(ls, "banned"), true)
		where := map[string]string{"process": h.Work, "container": filepath.Join(h.State, "workspaces", h.session(t))}[mode]
		want(t, "where it runs", a.ask(t, "run", `["hsh","-c","pwd -P"]`), answered(`"`+where+`\n(0)"`))
		want(t, "elsewhere", a.ask(t, "run", `["sh","-c","cd /tmp && hsh -c true"]`), answered(`"(126)"`))
		status := h.Must(t, "hostexec", "status", "--format", "{{.State}}")
		want(t, "status", status, "running\n")
		want(t, "code", a.Wait(t).Code, 0)
		for _, kind := range []string{"START", "COMPLETE", "DENY"} {
			name := filepath.Base(echo(t, mode)[1])
			if len(h.Audit(t, kind, " agent="+name+" ")) == 0 {
				t.Errorf("no %s of agent %s in %q", kind, name, h.Audit(t))
			}
		}
	})
}

// TestIntegrationAgentRuleCommand calls a command that only has rules by its name, from an agent on this host. A program
// of that name in the agent's PATH comes first, as in a container.
func TestIntegrationAgentRuleCommand(t *testing.T) {
	h := newHost(t, false)
	const rules = "rules: [{id: a, do: allow, effects: [read], argv: [-n, '--', {re: '[a-z]+'}]}]"
	h.Write(t, h.State, "config.yaml", "commands: {onlyrule: {exec: /bin/echo, "+rules+"}, printf: {exec: /bin/echo, "+rules+"}}\n", 0o600)
	const script = "onlyrule -n -- rule; onlyrule x 2>/dev/null; env printf ' %s %s' $? own"
	for _, flags := range [][]string{nil, {"--proxy", "hsh=/bin/sh"}} {
		r := h.Docker(t, append(append([]string{"hostexec", "agent"}, flags...), "--", "sh", "-c", script)...)
		want(t, "the agent", r.Out, "-- rule 126 own")
	}
}

// TestIntegrationAgentStdin queues messages for an agent that makes a call for each of them, with
// its own stdin: no carrier gives any of them to a call, unless a call asks for it.
func TestIntegrationAgentStdin(t *testing.T) {
	h := dockerUsers(t)[0]
	for _, by := range []string{"socket", "relay", "files"} {
		t.Run(by, func(t *testing.T) {
			const script = `echo given | HOSTEXEC_STDIN=auto hcat; while read -r line; do hcat >/dev/null || exit; echo "$line"; done`
			messages := strings.Repeat("message\n", 20)
			r := h.feed(t, messages, "docker", agentArgs(t, "container", "busybox", "--carrier", by, "--proxy", "hcat=/bin/cat", "--", "sh", "-c", script)...)
			want(t, "answers", r, Result{Out: "given\n" + messages})
		})
	}
}

// TestIntegrationAgentCallsInContainer calls a command that runs in a container of its own, which
// has the directory that the agent works in: its workspace in the state directory, too.
func TestIntegrationAgentCallsInContainer(t *testing.T) {
	eachMode(t, func(t *testing.T, h *Host, mode string) {
		flags := append([]string{"--proxy", "csh=/bin/sh,where=container:" + image(t, "full")}, echo(t, mode)...)
		a := h.Agent(t, agentArgs(t, mode, "busybox", flags...)...)
		dir := map[string]string{"process": h.Work, "container": "/workspace"}[mode]
		want(t, "a command", a.ask(t, "run", `["csh","-c","pwd; echo text >made; exit 7"]`), answered(`"`+dir+`\n(7)"`))
		want(t, "the agent's directory", a.ask(t, "run", `["cat","made"]`), answered(`"text\n(0)"`))
		want(t, "code", a.Wait(t).Code, 0)
	})
}

// TestIntegrationAgentAsks asks a person about an agent's call. The question names the agent.
func TestIntegrationAgentAsks(t *testing.T) {
	eachMode(t, func(t *testing.T, h *Host, mode string) {
		file := h.Write(t, h.Work, "a.yaml", "agent: {name: my-agent}\n", 0o644)
		h.Write(t, h.State, "config.yaml", "approval: {wait: always}\n", 0o600)
		flags := append([]string{"--config", file, "--proxy", "hsh=ask"}, echo(t, mode)...)
		h.Env = []string{"PATH=" + shDir(t, h) + ":" + os.Getenv("PATH")}
		a := h.Agent(t, agentArgs(t, mode, "busybox", flags...)...)
		a.write(t, "run", `["hsh","-c","echo called"]`)
		var q struct{ ID, Agent string }
		eventually(t, patience, "a question", func() bool {
			out := h.Must(t, "hostexec", "pending", "--format", "json")
			return json.Unmarshal([]byte(out), &q) == nil && q.ID != ""
		})
		want(t, "agent", q.Agent, "my-agent")
		h.Must(t, "hostexec", "approve", q.ID)
		want(t, "answer", a.Line(t), answered(`"called\n(0)"`))
		want(t, "code", a.Wait(t).Code, 0)
		want(t, "approved", len(h.Audit(t, "APPROVE", " agent=my-agent ")), 1)
	})
}

// shDir is a directory with hsh, which is sh.
func shDir(t *testing.T, h *Host) string {
	t.Helper()
	dir := filepath.Join(h.Home, "bin")
	h.mkdir(t, dir)
	check(t, os.Symlink("/bin/sh", filepath.Join(dir, "hsh")))
	return dir
}

// TestIntegrationAgentWorkspace writes in the workspace. The host sees the files at once, keeps
// them after the agent has ended, and the owner is the image's user.
func TestIntegrationAgentWorkspace(t *testing.T) {
	for _, shared := range dockerUsers(t) {
		for img, uid := range map[string]uint32{"busybox": 0, "user": 1000} {
			t.Run(shared.Name+"/"+img, func(t *testing.T) {
				h := newHost(t, shared.cred != nil)
				base := filepath.Join(h.Home, "spaces")
				file := h.Write(t, h.Work, "a.yaml", "agent: {container: {workspace_host_base: '$HOME/spaces', workspace_container_path: /my/space}}\n", 0o644)
				if uid == 0 {
					base, file = filepath.Join(h.State, "workspaces"), h.Write(t, h.Work, "a.yaml", "agent: {container: {workspace_container_path: /my/space}}\n", 0o644)
				}
				a := h.Agent(t, agentArgs(t, "container", img, append([]string{"--config", file}, echo(t, "container")...)...)...)
				want(t, "answer", a.ask(t, "run", `["sh","-c","pwd; echo text >made; id -u"]`), answered(`"/my/space\n`+map[uint32]string{0: "0", 1000: "1000"}[uid]+`\n(0)"`))
				dir := filepath.Join(base, h.session(t))
				made := filepath.Join(dir, "made")
				want(t, "on the host at once", string(readFile(t, made)), "text\n")
				want(t, "code", a.Wait(t).Code, 0)
				h.agentless(t)
				want(t, "afterwards", string(readFile(t, made)), "text\n")
				fi, err := os.Stat(dir)
				check(t, err)
				owner := fi.Sys().(*syscall.Stat_t).Uid
				if h.cred != nil && uid == 0 {
					uid = h.cred.Uid // the container's root needs no directory of its own
				}
				want(t, "owner", owner, uid)
			})
		}
	}
}
