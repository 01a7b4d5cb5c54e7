// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestIntegrationJobKept checks a job that outlives its container: the host can list, read and end it, its
// output stays after its end, and it ends with its session.
func TestIntegrationJobKept(t *testing.T) {
	const script = `setsid sleep 1000 & echo $!; (sleep 1000 & echo $!); echo up; wait`
	for _, h := range dockerUsers(t) {
		for name, end := range map[string]func(c *Container, id string){
			"kill":             func(c *Container, id string) { c.Host.Must(t, "hostexec", "kill", id) },
			"stop":             func(c *Container, _ string) { c.Host.Must(t, "hostexec", "stop", c.Session) },
			"the watcher dies": func(c *Container, _ string) { c.Host.Watcher(t, c.Session).Signal(t, syscall.SIGKILL) },
		} {
			t.Run(h.Name+"/"+name, func(t *testing.T) {
				c := h.Holding(t, "--proxy", "hsh=/bin/sh,keep").As("1000")
				id, p := c.Job(t, "--keep", "--wait-for-log", "up", "hsh", "-c", script)
				_, other := c.Job(t, "hsh", "-c", "exec sleep 1000")
				procs := []*Proc{p}
				for _, pid := range strings.Fields(strings.TrimSuffix(c.Exec(t, "hostexec", "logs", id).Out, "up\n")) {
					n, err := strconv.Atoi(pid)
					check(t, err)
					procs = append(procs, hold(t, n))
				}
				w := h.Watcher(t, c.Session)
				h.Must(t, "rm", "-f", c.ID)
				other.Ends(t, leaves+grace)
				eventually(t, soon, "the session keeps a job", func() bool { return h.state(t, c.Session) == "keeping" })
				want(t, "status of what is kept", h.Must(t, "hostexec", "status", "-q", "--filter", "state=keeping"), c.Session+"\n")
				want(t, "docker hostexec ps", h.Must(t, "hostexec", "ps", "--format", "{{.ID}} {{.Kind}} {{.Status}}", c.Session), id+" job, kept running\n")
				want(t, "docker hostexec logs --job", strings.HasSuffix(h.Must(t, "hostexec", "logs", "--job", id), "up\n"), true)
				want(t, "docker hostexec kill -s", h.Must(t, "hostexec", "kill", "-s", "WINCH", id), id+"\n")
				want(t, "prune spares it", strings.Contains(h.Must(t, "hostexec", "prune", "-f"), c.Session), false)
				want(t, "it goes on", p.Gone(0), false)
				end(c, id)
				allEnd(t, procs, leaves+grace)
				w.Ends(t, leaves+grace)
				want(t, "what it wrote stays", strings.HasSuffix(h.Must(t, "hostexec", "logs", "--job", id), "up\n"), true)
				want(t, "prune removes it", strings.Contains(h.Must(t, "hostexec", "prune", "-f"), c.Session), true)
			})
		}
	}
}

// TestIntegrationJobKeptRestart starts a container again whose session was kept by a job.
func TestIntegrationJobKeptRestart(t *testing.T) {
	for _, h := range anyUser(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--proxy", "hsh=/bin/sh,keep").As("1000")
			id, p := c.Job(t, "--keep", "hsh", "-c", "exec sleep 1000")
			_, other := c.Job(t, "hsh", "-c", "exec sleep 1000")
			h.Must(t, "kill", c.ID)
			other.Ends(t, leaves+grace) // with the session, after its time of waiting
			want(t, "it goes on", p.Gone(0), false)
			h.Must(t, "start", c.ID)
			want(t, "a call", c.Exec(t, "hsh", "-c", "exit 7").Code, 7)
			eventually(t, soon, "the session is served", func() bool { return h.state(t, c.Session) == "running" })
			_, other = c.Job(t, "hsh", "-c", "exec sleep 1000")
			want(t, "kill from the container", c.Exec(t, "hostexec", "kill", id).Out, id+"\n")
			want(t, "it is gone", p.Gone(0), true)
			want(t, "a job of the second period goes on", other.Gone(100*time.Millisecond), false)
		})
	}
}

// TestIntegrationAgentJobKept checks, in both modes, that a kept job outlives its agent, and that everything
// else ends.
func TestIntegrationAgentJobKept(t *testing.T) {
	for _, shared := range dockerUsers(t) {
		for _, mode := range modes {
			t.Run(shared.Name+"/"+mode, func(t *testing.T) {
				h := newHost(t, shared.cred != nil)
				a := h.Agent(t, agentArgs(t, mode, "busybox", append([]string{"--proxy", "hsh=/bin/sh,keep"}, echo(t, mode)...)...)...)
				id, p := a.job(t, `"--keep",`)
				_, other := a.job(t, "")
				session := h.session(t)
				w := h.Watcher(t, session)
				link := linkOf(t, w)
				want(t, "code", a.Wait(t).Code, 0)
				want(t, "the agent's end waited for the session's", hasFile(t, w.PID, link), false)
				other.Ends(t, leaves+grace)
				eventually(t, patience, "the session keeps a job", func() bool { return h.state(t, session) == "keeping" })
				want(t, "no container", h.agents(t), "")
				want(t, "it goes on", p.Gone(0), false)
				want(t, "docker hostexec logs --job", h.Must(t, "hostexec", "logs", "--job", id), "up\n")
				h.Must(t, "hostexec", "kill", id)
				allEnd(t, []*Proc{p, w}, leaves+grace)
				want(t, "what it wrote stays", h.Must(t, "hostexec", "logs", "--job", id), "up\n")
			})
		}
	}
}

// TestIntegrationAgentJobStopped stops the session of an agent that has ended, while a kept job runs.
func TestIntegrationAgentJobStopped(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			h := newHost(t, false)
			a := h.Agent(t, agentArgs(t, mode, "busybox", append([]string{"--proxy", "hsh=/bin/sh,keep"}, echo(t, mode)...)...)...)
			_, p := a.job(t, `"--keep",`)
			session := h.session(t)
			w := h.Watcher(t, session)
			want(t, "code", a.Wait(t).Code, 0)
			eventually(t, patience, "the session keeps a job", func() bool { return h.state(t, session) == "keeping" })
			h.Must(t, "hostexec", "stop", session)
			allEnd(t, []*Proc{p, w}, leaves+grace)
		})
	}
}

// job has an agent start a job.
func (call *Call) job(t testing.TB, flags string) (id string, p *Proc) {
	t.Helper()
	var answer struct{ Result string }
	check(t, json.Unmarshal([]byte(call.ask(t, "run", `["hostexec","-d",`+flags+`"hsh","-c","echo up; exec sleep 1000"]`)), &answer))
	f := strings.Fields(answer.Result)
	if len(f) != 3 {
		t.Fatalf("hostexec -d says %q", answer.Result)
	}
	return f[0], hold(t, atoi(t, strings.TrimSuffix(f[1], "(0)")))
}

// TestIntegrationAgentJobLost kills docker hostexec agent over a job that is kept: status and ps
// show it. Then watcher and keeper are killed at once, and nobody is left that would end it:
// prune does.
func TestIntegrationAgentJobLost(t *testing.T) {
	for _, shared := range dockerUsers(t) {
		for _, mode := range modes {
			t.Run(shared.Name+"/"+mode, func(t *testing.T) {
				h := newHost(t, shared.cred != nil)
				a := h.Agent(t, agentArgs(t, mode, "busybox", append([]string{"--proxy", "hsh=/bin/sh,keep"}, echo(t, mode)...)...)...)
				id, p := a.job(t, `"--keep",`)
				session := h.session(t)
				h.verb(t).Signal(t, syscall.SIGKILL)
				a.Ended(t)
				eventually(t, stops, "the session keeps a job", func() bool { return h.state(t, session) == "keeping" })
				want(t, "docker hostexec ps", h.Must(t, "hostexec", "ps", "--format", "{{.ID}} {{.Kind}} {{.Status}}"), id+" job, kept running\n")
				h.killBoth(t, session)
				want(t, "it goes on", p.Gone(0), false)
				want(t, "status", h.state(t, session), "gone")
				want(t, "prune", h.Must(t, "hostexec", "prune", "-f"), session+"\n")
				want(t, "it has gone", p.Gone(0), true)
				h.agentless(t)
			})
		}
	}
}

// linkOf is the target of a descriptor that the watcher holds of its link.
func linkOf(t testing.TB, w *Proc) string {
	t.Helper()
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", w.PID))
	check(t, err)
	return link
}

// hasFile reports whether a process has file open.
func hasFile(t testing.TB, pid int, file string) bool {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	check(t, err)
	return slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
		to, _ := os.Readlink(filepath.Join(dir, fd.Name())) // it may be closed by now
		return to == file
	})
}

// state is what docker hostexec status says of a session.
func (h *Host) state(t testing.TB, session string) string {
	t.Helper()
	return strings.TrimSpace(h.Must(t, "hostexec", "status", "-a", "--filter", "id="+session, "--format", "{{.State}}"))
}
