// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationRelayStall makes one call that reads no output and one whose command reads no
// input. Other calls are answered meanwhile, and signals overtake waiting data.
//
// Attack 167.
func TestIntegrationRelayStall(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Shared(t, "relay")
			const fifo = `mkfifo /tmp/$$; exec 7<>/tmp/$$; rm /tmp/$$; echo stalled; `
			stalled := c.Start(t, "bash", "-c", fifo+`exec hsh -c 'exec cat /dev/zero' >&7`)
			want(t, "line", stalled.Line(t), "stalled")
			deaf := c.Start(t, "bash", "-c", `hsh -c 'trap "echo got USR1; exit 3" USR1; echo ready; while :; do sleep 0.05; done' < <(exec cat /dev/zero) & wait -f $! || kill -USR1 $!; wait -f $!; echo $?`)
			want(t, "line", deaf.Line(t), "ready")
			for range 3 {
				want(t, "others", c.Exec(t, "hsh", "-c", "echo answered").Out, "answered\n")
			}
			r := c.Sh(t, `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^hsh -c trap' && kill -USR1 ${p#/proc/}; done; true`)
			want(t, "kill", r.Code, 0)
			want(t, "the command's answer", deaf.Line(t), "got USR1")
			stalled.Signal(t, "TERM")
			want(t, "code", stalled.Ended(t).Code, 143)
		})
	}
}

// relays are the relays in the container, by their numbers there.
func (c *Container) relays(t testing.TB) []string {
	t.Helper()
	return strings.Fields(c.Sh(t, `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^/run/hostexec/bin/hostexec relay ' && echo ${p#/proc/}; done; true`).Out)
}

// TestIntegrationRelayRestart ends the relay in several ways: its calls end, and later calls are
// answered through a new one.
func TestIntegrationRelayRestart(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.Holding(t, append(proxies(t), "--carrier", "relay")...)
			called := func(after string) {
				t.Helper()
				r := c.Exec(t, "hsh", "-c", "echo called")
				want(t, after, r.Out+r.Err, "called\n")
				want(t, after+": relays", len(c.relays(t)), 1)
			}
			called("at first")
			call, tree := treeOf(t, c)
			c.Sh(t, `kill -KILL "$@"`, c.relays(t)...)
			want(t, "code", call.Ended(t).Code, 125)
			allEnd(t, tree, grace)
			called("after a kill")
			h.Must(t, "restart", "-t", "0", c.ID)
			called("after a restart")
			h.Must(t, "hostexec", "stop", c.Session)
			eventually(t, soon, "the relay has gone with the watcher", func() bool { return len(c.relays(t)) == 0 })
			noHostAnswers(t, c)
			h.Must(t, "hostexec", "resume", c.Session)
			called("after resume")
		})
	}
}

// reached is what status says of how calls come.
func (h *Host) reached(t testing.TB, c *Container) (carrier, why string) {
	t.Helper()
	out := h.Must(t, "hostexec", "status", "--format", "{{.ID}}\t{{.Carrier}}\t{{.CarrierWhy}}")
	for line := range strings.Lines(out) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 && f[0] == c.Session {
			return f[1], f[2]
		}
	}
	t.Fatalf("no session %s in %q", c.Session, out)
	return "", ""
}

// TestIntegrationCarrierProven checks that a user's first session finds out whether sockets cross, with or
// without a call, and that the next session uses the result.
func TestIntegrationCarrierProven(t *testing.T) {
	for what, calls := range map[string]bool{"by a call": true, "by a relay": false} {
		t.Run(what, func(t *testing.T) {
			h := newHost(t, false)
			c := h.Holding(t, "--proxy", "htrue=/bin/true")
			if calls {
				want(t, "code", c.Exec(t, "htrue").Code, 0)
			}
			var known map[string]struct{ ID, Carrier string }
			eventually(t, patience, "it is noted", func() bool {
				b := readFile(t, filepath.Join(h.State, "engines.json"))
				if len(b) == 0 || json.Unmarshal(b, &known) != nil {
					return false
				}
				for _, e := range known {
					return e.Carrier != "" // else only its architecture is known
				}
				return false
			})
			for _, e := range known {
				want(t, "carrier", e.Carrier, "socket")
				want(t, "engine", e.ID, strings.TrimSpace(h.Must(t, "info", "--format", "{{.ID}}")))
			}
			carrier, why := h.reached(t, c)
			want(t, "status", carrier+": "+why, "socket: a connection of the container's has arrived")
			eventually(t, soon, "no relay stays", func() bool { return len(c.relays(t)) == 0 })

			next := h.Holding(t, "--proxy", "htrue=/bin/true")
			want(t, "mounts of the next one", strings.Contains(next.Inspect(t, "{{json .Mounts}}{{json .HostConfig.Mounts}}"), "relay"), false)
			carrier, _ = h.reached(t, next)
			want(t, "status", carrier, "socket")
		})
	}
}
