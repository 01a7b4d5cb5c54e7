// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// treeOf starts a command that has a child, an orphan and a child in a session of its
// own, and returns the call with all four, of which the orphan ignores TERM.
func treeOf(t testing.TB, c *Container) (*Call, []*Proc) {
	t.Helper()
	call := c.Start(t, "hp", "tree")
	var procs []*Proc
	for range 4 {
		procs = append(procs, call.Host(t))
	}
	return call, procs
}

// grace is how long an obstinate process of a tree may live on: TERM, 5 s, KILL.
const grace = 5*time.Second + soon

func allEnd(t testing.TB, procs []*Proc, d time.Duration) {
	t.Helper()
	for _, p := range procs {
		p.Ends(t, d)
	}
}

// TestIntegrationShimKilled kills the shim, which cannot say goodbye: the whole tree on
// the host ends, at once where it does not ignore TERM.
func TestIntegrationShimKilled(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		t.Parallel() // most of it is waiting
		call := c.Start(t, "hsh", "-c", `echo $$; exec sleep 1000`)
		p := call.Host(t)
		start := time.Now()
		call.Signal(t, "KILL")
		p.Ends(t, soon)
		t.Logf("gone %s after the kill was asked for", time.Since(start).Round(time.Millisecond))
		want(t, "code", call.Ended(t).Code, 137)

		call, tree := treeOf(t, c)
		call.Signal(t, "KILL")
		allEnd(t, tree, grace)
	})
}

// TestIntegrationShimTerminated ends the shim with TERM: it passes the signal on, and
// the command, which dies of it, leaves its children to the session.
func TestIntegrationShimTerminated(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		call := c.Start(t, "hsh", "-c", `echo $$; exec sleep 1000`)
		p := call.Host(t)
		call.Signal(t, "TERM")
		p.Ends(t, soon)
		want(t, "code", call.Ended(t).Code, 143)
	})
}

// TestIntegrationTerminalLost takes the caller's terminal away, as closing its window
// does: the host's tree ends.
func TestIntegrationTerminalLost(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, proxies(t)...)
			m := c.Shell(t)
			m.Type(t, "hsh -c 'echo pid=$$=; exec sleep 1000'\r")
			p := hostPID(t, m)
			h.Must(t, "kill", c.ID)
			p.Ends(t, soon)
		})
	}
}

// TestIntegrationContainerGone ends the container in several ways while a call runs in
// it: no host process stays, the session's own included.
func TestIntegrationContainerGone(t *testing.T) {
	ways := map[string][]string{
		"docker kill":    {"kill"},
		"docker stop":    {"stop", "-t", "0"},
		"docker rm -f":   {"rm", "-f"},
		"docker restart": {"restart", "-t", "0"},
	}
	for _, h := range dockerUsers(t) {
		for name, way := range ways {
			t.Run(h.Name+"/"+name, func(t *testing.T) {
				t.Parallel() // most of it is waiting
				c := h.Holding(t, proxies(t)...)
				call, tree := treeOf(t, c)
				h.Must(t, append(way, c.ID)...)
				allEnd(t, tree, grace)
				r := call.Ended(t)
				// docker exec asks for the code when it is over: all may be forgotten by then.
				if name != "docker rm -f" || r.Code != 1 || !strings.Contains(r.Err, "No such ") {
					want(t, "code", r.Code, 137)
				}
			})
		}
	}
}

// TestIntegrationWatcherKilled kills the watcher while a call runs. The caller gets 125 at once,
// the host's tree ends, later calls fail with one clear line, and `resume` restores the session.
//
// Attack 156.
func TestIntegrationWatcherKilled(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.Holding(t, proxies(t)...)
			call, tree := treeOf(t, c)
			watcher, keeper := h.Watcher(t, c.Session), h.Keeper(t, c.Session)
			start := time.Now()
			watcher.Signal(t, syscall.SIGKILL)
			r := call.Ended(t)
			want(t, "code", r.Code, 125)
			if took := time.Since(start); took > soon || !strings.HasPrefix(r.Err, "hostexec: the host side went away") {
				t.Errorf("the caller is told %q after %s", r.Err, took)
			}
			allEnd(t, append(tree, watcher, keeper), grace)
			noHostAnswers(t, c)
			h.Must(t, "hostexec", "resume", c.ID)
			want(t, "a call after resume", c.Exec(t, "hsh", "-c", "echo back").Out, "back\n")
		})
	}
}

// TestIntegrationKeeperKilled kills the keeper: the watcher ends the session. Then it kills both at
// once: resume, or else the next verb, ends the processes that they left.
//
// Attack 156.
func TestIntegrationKeeperKilled(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.Holding(t, proxies(t)...)
			call, tree := treeOf(t, c)
			watcher, keeper := h.Watcher(t, c.Session), h.Keeper(t, c.Session)
			keeper.Signal(t, syscall.SIGKILL)
			want(t, "code", call.Ended(t).Code, 125)
			allEnd(t, append(tree, watcher), grace)
			noHostAnswers(t, c)
			h.Must(t, "hostexec", "resume", c.ID)

			left := callThenKillBoth(t, c)
			h.Must(t, "hostexec", "resume", c.ID)
			want(t, "resume ended it", left.Gone(0), true)
			left = callThenKillBoth(t, c)
			h.Must(t, "rm", "-f", c.ID)
			h.Must(t, "hostexec", "ps")
			want(t, "ps ended it", left.Gone(0), true)
			want(t, "prune", h.Must(t, "hostexec", "prune", "-f"), c.Session+"\n")
		})
	}
}

// callThenKillBoth returns the command of a call that ran when keeper and watcher were killed.
func callThenKillBoth(t testing.TB, c *Container) *Proc {
	t.Helper()
	call := c.Start(t, "hsh", "-c", `echo $$; exec sleep 1000`)
	p := call.Host(t)
	c.Host.killBoth(t, c.Session)
	call.Ended(t)
	want(t, "it goes on", p.Gone(0), false)
	return p
}

// killBoth kills a session's keeper and watcher so that neither learns of the other's death.
func (h *Host) killBoth(t testing.TB, session string) {
	t.Helper()
	keeper, watcher := h.Keeper(t, session), h.Watcher(t, session)
	keeper.Signal(t, syscall.SIGSTOP) // the kernel would wake a watcher that is stopped when its keeper dies
	eventually(t, patience, "the keeper has stopped", func() bool { return keeper.State() == "T" })
	for _, p := range []*Proc{watcher, keeper} {
		p.Signal(t, syscall.SIGKILL)
		p.Ends(t, patience)
	}
}

// noHostAnswers requires that a call fails with 125, one line with the reason, and a hint.
func noHostAnswers(t testing.TB, c *Container) {
	t.Helper()
	r := c.Exec(t, "hsh", "-c", "echo never")
	want(t, "code without a watcher", r.Code, 125)
	want(t, "stdout without a watcher", r.Out, "")
	if !strings.HasPrefix(r.Err, "hostexec: hostexec is not running on the host for this container") || !strings.Contains(r.Err, "hint: docker hostexec resume") {
		t.Errorf("without a watcher the caller is told %q", r.Err)
	}
}

// TestIntegrationBackgroundChild leaves a child behind: the answer does not wait for it,
// it lives on, and it ends with the session.
func TestIntegrationBackgroundChild(t *testing.T) {
	for _, h := range dockerUsers(t) {
		for _, user := range []string{"0", "1000"} {
			t.Run(h.Name+"/uid"+user, func(t *testing.T) {
				t.Parallel() // most of it is waiting
				c := h.Holding(t, proxies(t)...).As(user)
				for _, script := range []string{
					`hsh -c 'sleep 1000 & echo $!; echo answered'`, // holds the caller's pipe open
					`hsh -c 'sleep 1000 >/dev/null 2>&1 & echo $!; echo answered'`,
					`hsh -c 'sleep 1000 & echo $!; echo answered' >/tmp/$$; cat /tmp/$$`, // holds the copier's
					`hsh -c 'setsid sleep 1000 & echo $!; echo answered' >/tmp/$$; cat /tmp/$$`,
				} {
					backgroundChild(t, c, script)
				}
			})
		}
	}
}

func backgroundChild(t *testing.T, c *Container, script string) {
	t.Helper()
	call := c.Start(t, "bash", "-c", script+"; echo status=$?; exec >&- 2>&-")
	p := call.Host(t)
	want(t, script, call.Line(t)+" "+call.Line(t), "answered status=0")
	if p.Gone(300 * time.Millisecond) {
		t.Errorf("%s: the child did not survive the answer", script)
	}
	t.Cleanup(func() {
		c.Host.Docker(t, "rm", "-f", c.ID)
		p.Ends(t, 10*time.Second+grace) // the session's patience with a stopped container, and then the tree's
	})
}

// TestIntegrationBackgroundChildOfRun leaves a child behind that holds the container's own stdout:
// the container ends, and the child with it.
func TestIntegrationBackgroundChildOfRun(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			r := h.Run(t, "--rm", "--proxy", "hsh=/bin/sh", image(t, "busybox"), "hsh", "-c", "sleep 1000 & echo $!")
			want(t, "code", r.Code, 0)
			pid := atoi(t, r.Out)
			eventually(t, soon, "the child has ended", func() bool { return !strings.Contains(cmdline(pid), "sleep 1000") })
		})
	}
}

// TestIntegrationBackgroundTerminalChild leaves a child behind that has the terminal: no
// SIGHUP ends it when the command that it came from is done.
func TestIntegrationBackgroundTerminalChild(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		m := c.Shell(t)
		m.Type(t, "hbash -c 'sleep 1000 & echo pid=$!='\r")
		p := hostPID(t, m)
		m.Expect(t, "ready> ")
		if p.Gone(300 * time.Millisecond) {
			t.Error("the child did not survive the answer")
		}
		p.Signal(t, syscall.SIGTERM)
		m.Exit(t)
	})
}

// TestIntegrationHangUpRepeated hangs up between request and answer again and again,
// after which the host has as many processes and descriptors as before.
func TestIntegrationHangUpRepeated(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		w := c.Host.Watcher(t, c.Session)
		c.Exec(t, "hsh", "-c", ":") // everything that is opened once is open
		fds := countFDs(t, w.PID)
		r := c.Sh(t, `for i in {1..100}; do hsh -c 'exec sleep 1000' & kill -KILL $!; done 2>/dev/null; wait; echo done`)
		want(t, "stdout", r.Out, "done\n")
		eventually(t, grace, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds })
		within(t, "threads of the watcher", statusNum(t, w.PID, "Threads"), 48)
	})
}

// TestIntegrationWatcherStopped stops the watcher by a signal. A call ends at its time limit,
// status shows the cause, and everything continues with the watcher.
func TestIntegrationWatcherStopped(t *testing.T) {
	for _, h := range anyUser(t) {
		c := h.Holding(t, "--network", "none", "--proxy", "hsh=/bin/sh")
		w := h.Watcher(t, c.Session)
		running := c.Start(t, "env", "HOSTEXEC_TIMEOUT=2s", "hsh", "-c", "echo $$; exec sleep 1000")
		p := running.Host(t)
		w.Signal(t, syscall.SIGSTOP)
		want(t, "a call that runs", running.Wait(t).Code, 124)
		r := c.Exec(t, "env", "HOSTEXEC_TIMEOUT=100ms", "hsh", "-c", "echo never")
		if r.Code != 124 || !strings.HasPrefix(r.Err, "hostexec: timeout waiting for host") {
			t.Errorf("a call that comes: %v", r)
		}
		r = c.Sh(t, "HOSTEXEC_TIMEOUT=100ms hsh -c 'echo never' | cat; echo read")
		want(t, "a reader of a call's output", r.Out, "read\n")
		r = h.Docker(t, "hostexec", "status", "--filter", "state=suspended", "--format", "{{.ID}}")
		want(t, "status", r.Out, c.Session+"\n")
		if hint := fmt.Sprintf("hostexec: hint: kill -CONT %d\n", w.PID); r.Code != 1 || !strings.HasSuffix(r.Err, hint) {
			t.Errorf("status: %v", r)
		}
		w.Signal(t, syscall.SIGCONT)
		p.Ends(t, grace)
		want(t, "a call", c.Exec(t, "hsh", "-c", "echo back").Out, "back\n")
	}
}
