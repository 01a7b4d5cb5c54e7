// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running starts an agent whose tree has a child, an orphan that ignores TERM and a child in
// a session of its own, and returns it with its processes as the host numbers them.
func (h *Host) running(t *testing.T, mode string) (*Call, []*Proc) {
	t.Helper()
	program := map[string]string{"process": probePath(t), "container": "/probe"}[mode]
	a := h.Agent(t, agentArgs(t, mode, "busybox", "--", program, "tree")...)
	var procs []*Proc
	for range 4 {
		pid := a.Line(t)
		if mode == "process" {
			procs = append(procs, hold(t, atoi(t, pid)))
		}
	}
	if mode == "container" {
		pid, err := strconv.Atoi(strings.TrimSpace(h.Must(t, "inspect", "--format", "{{.State.Pid}}", h.agents(t))))
		check(t, err)
		procs = append(procs, hold(t, pid))
	}
	return a, append(procs, h.Watcher(t, h.session(t)), h.Keeper(t, h.session(t)))
}

// verb is the plugin's own process.
func (h *Host) verb(t *testing.T) *Proc {
	t.Helper()
	pids := processes(h.Home, "docker-hostexec hostexec agent")
	if len(pids) != 1 {
		t.Fatalf("%d processes are the agent's verb, want 1", len(pids))
	}
	return hold(t, pids[0])
}

// stops is how long an agent in a container may be asked to end.
const stops = 10*time.Second + patience

// TestIntegrationAgentKilled breaks things while an agent runs: it ends, and no container
// and no process stays.
func TestIntegrationAgentKilled(t *testing.T) {
	ways := map[string]func(t *testing.T, h *Host, a *Call){
		"verb killed":         func(t *testing.T, h *Host, _ *Call) { h.verb(t).Signal(t, syscall.SIGKILL) },
		"verb hung up":        func(t *testing.T, h *Host, _ *Call) { h.verb(t).Signal(t, syscall.SIGHUP) },
		"verb told to end":    func(t *testing.T, h *Host, _ *Call) { h.verb(t).Signal(t, syscall.SIGTERM) },
		"docker told to end":  func(t *testing.T, h *Host, a *Call) { check(t, syscall.Kill(a.PID, syscall.SIGTERM)) },
		"docker killed":       func(t *testing.T, h *Host, a *Call) { check(t, syscall.Kill(a.PID, syscall.SIGKILL)) },
		"watcher killed":      func(t *testing.T, h *Host, _ *Call) { h.Watcher(t, h.session(t)).Signal(t, syscall.SIGKILL) },
		"watcher told to end": func(t *testing.T, h *Host, _ *Call) { h.Watcher(t, h.session(t)).Signal(t, syscall.SIGTERM) },
		"session stopped":     func(t *testing.T, h *Host, _ *Call) { h.Must(t, "hostexec", "stop", "-t", "1", h.session(t)) },
	}
	for _, shared := range dockerUsers(t) {
		for _, mode := range modes {
			for name, way := range ways {
				t.Run(shared.Name+"/"+mode+"/"+name, func(t *testing.T) {
					t.Parallel() // most of it is waiting
					h := newHost(t, shared.cred != nil)
					a, procs := h.running(t, mode)
					way(t, h, a)
					allEnd(t, procs, stops)
					if code := a.Ended(t).Code; code == 0 {
						t.Errorf("the client is told 0")
					}
					eventually(t, stops, "no container is left", func() bool { return h.agents(t) == "" })
					eventually(t, stops, "no process is left", func() bool { return len(processes(h.State)) == 0 })
					h.Must(t, "hostexec", "prune", "-f") // a record without a watcher is all that can be left
				})
			}
		}
	}
}

// TestIntegrationAgentStopped stops the sessions of agents, one that ends when it is asked to, after a
// last call, and one that does not. When stop returns nothing of the agent is left, and the client
// has the agent's own code.
func TestIntegrationAgentStopped(t *testing.T) {
	h := dockerUsers(t)[0]
	for _, mode := range modes {
		for end, code := range map[string]int{`hsh -c "echo last"; exit 0`: 0, "": 137} {
			a := h.Agent(t, agentArgs(t, mode, "busybox", "--proxy", "hsh=/bin/sh", "--", "sh", "-c", "trap '"+end+"' TERM; echo up; while :; do sleep 0.1; done")...)
			want(t, "stdout", a.Line(t), "up")
			patient := map[int]string{0: "60", 137: "1"}[code]
			h.Must(t, "hostexec", "stop", "-t", patient, h.session(t))
			want(t, mode+": containers that are left", h.agents(t), "")
			last := map[int]string{0: "last\n", 137: ""}[code]
			if r := a.Ended(t); r.Code != code || r.Out != last || strings.Contains(r.Err, "hostexec") {
				t.Errorf("%s: the client of an agent that ends with %d is told %v", mode, code, r)
			}
			h.quiet(t, patience) // the record goes last
		}
	}
}

// TestIntegrationAgentCallOfKilledWatcher kills the watcher during an agent's call: the command's
// tree and the agent end, and the client gets an error.
func TestIntegrationAgentCallOfKilledWatcher(t *testing.T) {
	eachMode(t, func(t *testing.T, h *Host, mode string) {
		flags := append([]string{"--proxy", "hsh=/bin/sh"}, echo(t, mode)...)
		a := h.Agent(t, agentArgs(t, mode, "busybox", flags...)...)
		want(t, "answer", a.ask(t, "say", "1"), answered("1"))
		a.write(t, "run", `["hsh","-c","sleep 1000 & echo $$ $! >pids; wait"]`)
		where := map[string]string{"process": h.Work, "container": filepath.Join(h.State, "workspaces", h.session(t))}[mode]
		var procs []*Proc
		eventually(t, patience, "the command runs", func() bool {
			pids, err := os.ReadFile(filepath.Join(where, "pids"))
			if err != nil || !strings.HasSuffix(string(pids), "\n") {
				return false
			}
			for pid := range strings.FieldsSeq(string(pids)) {
				procs = append(procs, hold(t, atoi(t, pid)))
			}
			return true
		})
		h.Watcher(t, h.session(t)).Signal(t, syscall.SIGKILL)
		allEnd(t, procs, stops)
		r := a.Ended(t)
		if r.Code == 0 || !strings.Contains(r.Err, "hostexec: ") || !strings.Contains(r.Err, "watcher") {
			t.Errorf("the client is told %v", r)
		}
		h.Must(t, "hostexec", "prune", "-f")
		h.agentless(t)
	})
}

// TestIntegrationAgentOrphaned kills at once every process that would remove an agent's container.
// The container stays until prune or the next agent removes it. A container with --keep stays then
// too.
func TestIntegrationAgentOrphaned(t *testing.T) {
	ways := map[string]func(t *testing.T, h *Host){
		"prune": func(t *testing.T, h *Host) { h.Must(t, "hostexec", "prune", "-f") },
		"the next agent": func(t *testing.T, h *Host) {
			a := h.Agent(t, agentArgs(t, "container", "busybox", echo(t, "container")...)...)
			want(t, "code", a.Wait(t).Code, 0)
		},
	}
	for _, shared := range dockerUsers(t) {
		for name, way := range ways {
			for _, remove := range []string{"true", "false"} {
				t.Run(shared.Name+"/"+name+"/auto_remove="+remove, func(t *testing.T) {
					h := newHost(t, shared.cred != nil)
					file := h.Write(t, h.Work, "a.yaml", "agent: {container: {auto_remove: "+remove+"}}\n", 0o644)
					a := h.Agent(t, agentArgs(t, "container", "busybox", "--config", file, "--", "/probe", "tree")...)
					a.Line(t)
					id := h.agents(t)
					all := []*Proc{h.verb(t), h.Keeper(t, h.session(t)), h.Watcher(t, h.session(t))}
					for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
						for _, p := range all {
							p.Signal(t, sig)
						}
					}
					allEnd(t, all, patience)
					way(t, h)
					if remove == "true" {
						id = ""
					}
					want(t, "the container", h.agents(t), id)
					h.Docker(t, append([]string{"rm", "-f"}, strings.Fields(id)...)...)
					h.Must(t, "hostexec", "prune", "-f")
					want(t, "sessions", len(h.Sessions(t)), 0)
				})
			}
		}
	}
}

// TestIntegrationAgentContainerRemoved takes the container away below an agent.
func TestIntegrationAgentContainerRemoved(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			h = newHost(t, h.cred != nil)
			a, procs := h.running(t, "container")
			h.Must(t, "rm", "-f", h.agents(t))
			allEnd(t, procs, stops)
			want(t, "code", a.Ended(t).Code, 137)
			h.agentless(t)
		})
	}
}
