// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leaves is how long a session may outlive its container: the watcher waits 10 s for a
// restart, unless the container is removed.
const leaves = 10*time.Second + soon

// TestIntegrationFirstInstruction calls in the first instruction of a container, many times: the
// watcher is ready before the container starts.
func TestIntegrationFirstInstruction(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			for i := range 5 {
				r := h.Run(t, "--rm", "--proxy", "hsh=/bin/sh", image(t, "busybox"), "hsh", "-c", fmt.Sprintf("echo %d; exit %d", i, i))
				want(t, "stdout", r.Out, fmt.Sprintln(i))
				want(t, "code", r.Code, i)
			}
		})
	}
}

// TestIntegrationNothingStays runs a container to its end. With --rm nothing of the session is
// left. Without it, the session can be started by docker start until prune.
func TestIntegrationNothingStays(t *testing.T) {
	for _, ordinary := range []bool{false, true} {
		h := newHost(t, ordinary)
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			h.Run(t, "--rm", "--proxy", "hsh=/bin/sh", image(t, "busybox"), "hsh", "-c", "exit 0")
			h.quiet(t, soon)

			name := unique("kept-" + h.Name)
			want(t, "code", h.Run(t, "--name", name, "--proxy", "hsh=/bin/sh", image(t, "busybox"), "hsh", "-c", "echo ran").Code, 0)
			t.Cleanup(func() { h.Docker(t, "rm", "-f", name) })
			eventually(t, leaves, "the watcher has gone", func() bool { return len(processes(h.State)) == 0 })
			want(t, "sessions left", len(h.Sessions(t)), 1)
			h.Must(t, "rm", name)
			h.Must(t, "hostexec", "prune", "-f")
			h.quiet(t, soon)
		})
	}
}

// TestIntegrationStartFails creates a container that cannot start. Its session ends like that of a stopped
// container.
func TestIntegrationStartFails(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	name := unique("unbegun")
	want(t, "code", h.Run(t, "--name", name, "--proxy", "hsh=/bin/sh", image(t, "busybox"), "/nonexistent").Code, 127)
	t.Cleanup(func() { h.Docker(t, "rm", "-f", name) })
	eventually(t, leaves, "the watcher has gone", func() bool { return len(processes(h.State)) == 0 })
	want(t, "state", h.Must(t, "hostexec", "status", "-a", "--format", "{{.State}}"), "exited\n")
}

// TestIntegrationRestart restarts the container: the session is the same, and calls work.
func TestIntegrationRestart(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.Holding(t, proxies(t)...)
			w := h.Watcher(t, c.Session)
			h.Must(t, "restart", "-t", "0", c.ID)
			want(t, "after restart", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
			want(t, "the watcher has gone", w.Gone(0), false)
			h.Must(t, "stop", "-t", "0", c.ID)
			h.Must(t, "start", c.ID)
			want(t, "after stop and start", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
			h.Must(t, "rm", "-f", c.ID)
			w.Ends(t, soon)
		})
	}
}

// TestIntegrationRestartPolicy lets the engine restart the container.
func TestIntegrationRestartPolicy(t *testing.T) {
	for _, h := range dockerUsers(t) {
		for _, policy := range []string{"always", "on-failure", "unless-stopped"} {
			t.Run(h.Name+"/"+policy, func(t *testing.T) {
				t.Parallel() // most of it is waiting
				starts := "starts-" + policy
				c := h.Detached(t, "--restart", policy, "--network", "none", "--proxy", "hsh=/bin/sh", "-v", h.Work+":/w", "-w", "/w",
					image(t, "busybox"), "sh", "-c", "hsh -c 'echo again >>"+starts+"'; exit 3")
				lines := func() int { return strings.Count(string(readFile(t, h.Work+"/"+starts)), "again") }
				eventually(t, patience, "it called in three lives", func() bool { return lines() >= 3 })
				h.Must(t, "rm", "-f", c.ID)
			})
		}
	}
}

// TestIntegrationStopResume ends a session by hand, and brings it back.
func TestIntegrationStopResume(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.Holding(t, proxies(t)...)
			call, tree := treeOf(t, c)
			w, k := h.Watcher(t, c.Session), h.Keeper(t, c.Session)
			h.Must(t, "hostexec", "stop", c.Session)
			allEnd(t, append(tree, w, k), grace)
			want(t, "code of a call that ran", call.Ended(t).Code, 125)
			noHostAnswers(t, c)
			h.Must(t, "hostexec", "resume", c.Session)
			want(t, "after resume", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
			h.Must(t, "hostexec", "stop", "--container", c.Session)
			want(t, "the container runs", c.Inspect(t, "{{.State.Running}}"), "false")
		})
	}
}

// TestIntegrationOldContainer starts a container long after its watcher has ended. It starts, its
// calls print the command that brings the session back, and that command works.
func TestIntegrationOldContainer(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.Holding(t, proxies(t)...)
			w := h.Watcher(t, c.Session)
			h.Must(t, "stop", "-t", "0", c.ID)
			w.Ends(t, leaves)
			h.Must(t, "start", c.ID)
			noHostAnswers(t, c)
			h.Must(t, "hostexec", "resume", c.ID)
			want(t, "after resume", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
		})
	}
}

// TestIntegrationDetach leaves a foreground run by its detach keys: the session stays.
func TestIntegrationDetach(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			name := unique("detach-" + h.Name)
			t.Cleanup(func() { h.Docker(t, "rm", "-f", name) })
			m := h.term(t, append([]string{"docker"}, h.runArgs("-it", "--name", name, "--proxy", "hsh=/bin/sh", image(t, "full"), "bash", "--norc", "--noediting")...)...)
			m.Type(t, "echo $((40+2))\r")
			m.Expect(t, "42\r\n")
			m.Type(t, "\x10\x11") // ctrl-p ctrl-q
			want(t, "code", m.Wait(t), 0)
			want(t, "a call", h.Docker(t, "exec", name, "hsh", "-c", "echo called").Out, "called\n")
		})
	}
}

// TestIntegrationClientKilled kills `docker hostexec run` while its container runs: like
// docker run, it leaves the container, and the session with it.
func TestIntegrationClientKilled(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			name := unique("killed-" + h.Name)
			t.Cleanup(func() { h.Docker(t, "rm", "-f", name) })
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			cmd := h.Command(ctx, "docker", h.runArgs("--name", name, "--proxy", "hsh=/bin/sh", image(t, "full"), "/probe", "hold")...)
			check(t, cmd.Start())
			eventually(t, patience, "it runs", func() bool {
				return h.Docker(t, "inspect", "--format", "{{.State.Running}}", name).Out == "true\n"
			})
			cancel() // SIGKILL to docker and the plugin
			cmd.Wait()
			want(t, "a call", h.Docker(t, "exec", name, "hsh", "-c", "echo called").Out, "called\n")
		})
	}
}

// TestIntegrationInterruptedStart ends `docker hostexec run` at many moments before its
// container runs, by KILL and by ^C: nothing is left, neither process nor session nor
// container, unless the container runs by then, which is then docker run's to leave.
func TestIntegrationInterruptedStart(t *testing.T) {
	for _, ordinary := range []bool{false, true} {
		h := newHost(t, ordinary)
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
				for after := time.Duration(0); after < 500*time.Millisecond; after += 40 * time.Millisecond {
					interruptStart(t, h, sig, after)
				}
			}
			h.quiet(t, leaves+grace)
		})
	}
}

func interruptStart(t *testing.T, h *Host, sig syscall.Signal, after time.Duration) {
	t.Helper()
	mark := "io.hostexec.e2e.mark=" + unique(h.Name)
	cmd := h.Command(context.Background(), "docker", h.runArgs("--label", mark, "--proxy", "hsh=/bin/sh", image(t, "full"), "/probe", "hold")...)
	check(t, cmd.Start())
	<-time.After(after) // the moment is what is tested
	syscall.Kill(-cmd.Process.Pid, sig)
	all := func(filters ...string) []string {
		return strings.Fields(h.Must(t, append([]string{"ps", "-aq", "--filter", "label=" + mark}, filters...)...))
	}
	if sig == syscall.SIGKILL {
		cmd.Wait()
	} else {
		keepInterrupting(t, cmd, func() bool {
			return h.Docker(t, "ps", "-q", "--filter", "label="+mark).Out != ""
		})
	}
	eventually(t, leaves, fmt.Sprintf("no container that never ran is left by %v after %s", sig, after), func() bool { return len(all("--filter", "status=created")) == 0 })
	// Whoever ended run may be removing it as well, and then one of the two is refused.
	eventually(t, leaves, "every container of "+mark+" is removed", func() bool {
		ids := all()
		if len(ids) > 0 {
			h.Docker(t, append([]string{"rm", "-f"}, ids...)...)
		}
		return len(ids) == 0
	})
}

// keepInterrupting types ^C until docker run ends. A ^C just after the start is lost if the
// container's first process does not handle it yet, as with docker run.
func keepInterrupting(t *testing.T, run *exec.Cmd, runs func() bool) {
	t.Helper()
	ended, done := make(chan struct{}), make(chan struct{})
	// ends with run, which is waited for below.
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if runs() {
					syscall.Kill(-run.Process.Pid, syscall.SIGINT)
				}
			case <-ended:
				return
			}
		}
	}()
	defer func() { close(ended); <-done }()
	waitOr(t, run.Wait)
}

func waitOr(t testing.TB, wait func() error) {
	t.Helper()
	done := make(chan struct{})
	// ends with the process that is waited for, which the end of the tests ends at last.
	go func() { defer close(done); wait() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("run did not end on ^C")
	}
}

// TestIntegrationStatus checks the output of status for a session in all its formats.
func TestIntegrationStatus(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--name", unique("status-"+h.Name), "--proxy", "hsh=/bin/sh", "--proxy", "banned=deny")
			c.Exec(t, "hsh", "-c", "exit 0")
			var got map[string]any
			// The watcher may be busy when the call, by which it learns of the carrier, has been answered.
			eventually(t, patience, "status says how calls come", func() bool {
				line := lineWith(h.Must(t, "hostexec", "status", "--format", "json"), c.Session)
				if err := json.Unmarshal([]byte(line), &got); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				return got["Carrier"] == "socket"
			})
			all := fmt.Sprint(got)
			for _, text := range []string{c.Session, unique("status-" + h.Name), "hsh", "banned", "running"} {
				if !strings.Contains(all, text) {
					t.Errorf("status does not say %q: %s", text, all)
				}
			}
			table := h.Must(t, "hostexec", "status")
			if !strings.Contains(table, "SESSION") || lineWith(table, c.Session) == "" {
				t.Errorf("the table is %q", table)
			}
			want(t, "status -q", lineWith(h.Must(t, "hostexec", "status", "-q"), c.Session), c.Session)
		})
	}
}

// lineWith returns the line of text that contains word.
func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
