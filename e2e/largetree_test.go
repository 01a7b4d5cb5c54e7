// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// large is how many processes a large tree has.
const large = 500

// TestIntegrationLargeTree ends trees of 500 processes, made in every way, of which a fifth ignores
// TERM: by hostexec kill, by the death of the shim, and by that of the watcher. No process is left.
//
// Attacks 142, 152.
func TestIntegrationLargeTree(t *testing.T) {
	for _, h := range anyUser(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--proxy", "hp="+probePath(t)).As("1000")
			w := h.Watcher(t, c.Session)
			fds := countFDs(t, w.PID)

			id, tree := bigJob(t, c)
			want(t, "kill", c.Exec(t, "hostexec", "kill", id).Code, 0)
			want(t, "left when kill returns", left(tree), 0)

			call, tree := bigCall(t, c)
			call.Signal(t, "KILL")
			allEnd(t, tree, patience)
			eventually(t, patience, "no child of the watcher is left", func() bool { return len(children(t, w.PID)) == 0 })
			eventually(t, soon, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds+2 })

			_, tree = bigJob(t, c)
			w.Signal(t, syscall.SIGKILL)
			allEnd(t, tree, patience)
		})
	}
}

// bigJob starts a big tree as a job, and returns its id and all of its processes.
func bigJob(t testing.TB, c *Container) (id string, tree []*Proc) {
	t.Helper()
	id, _ = c.Job(t, "hp", "grow", strconv.Itoa(large))
	var pids []string
	eventually(t, patience, "all have started", func() bool {
		pids = strings.Fields(string(readFile(t, c.jobDir(id)+"/stdout")))
		return len(pids) == large
	})
	for _, pid := range pids {
		tree = append(tree, hold(t, atoi(t, pid)))
	}
	return id, tree
}

// bigCall calls one that is as big.
func bigCall(t testing.TB, c *Container) (call *Call, tree []*Proc) {
	t.Helper()
	call = c.Start(t, "hp", "grow", strconv.Itoa(large))
	for range large {
		tree = append(tree, call.Host(t))
	}
	return call, tree
}

func left(procs []*Proc) (n int) {
	for _, p := range procs {
		if !p.Gone(0) {
			n++
		}
	}
	return n
}

// largeTrees measures how the trees of two callers end.
func (b *bench) largeTrees(t *testing.T) {
	c := b.host.Holding(t, "--proxy", "hp="+probePath(t))
	w := b.host.Watcher(t, c.Session)
	id, tree := bigJob(t, c)
	start := time.Now()
	want(t, "kill", c.Exec(t, "hostexec", "kill", id).Code, 0)
	took := time.Since(start)
	n := left(tree)
	b.row("a tree of 500 processes: left when `kill` returns", itoa(n), "0", n == 0)
	b.row("the same, a fifth of which ignores TERM: `kill` over those 5 s", "+"+millis(float64(took-5*time.Second)), "", true)
	call, tree := bigCall(t, c)
	call.Signal(t, "KILL")
	allEnd(t, tree, patience)
	eventually(t, patience, "no child of the watcher is left", func() bool { return len(children(t, w.PID)) == 0 })
	b.row("a tree of 500 processes whose shim was killed: left", itoa(left(tree)), "0", left(tree) == 0)
}

// manyJobs measures 200 jobs at once.
func (b *bench) manyJobs(t *testing.T) {
	c := b.host.Holding(t, "--proxy", "hsh=/bin/sh")
	w := b.host.Watcher(t, c.Session)
	fds := countFDs(t, w.PID)
	failed := startJobs(t, c)
	anon := statusNum(t, w.PID, "RssAnon") * 1024
	running := strings.Count(c.Exec(t, "hostexec", "ps").Out, " running ")
	b.row("200 jobs at once: running, failed to start", itoa(running)+", "+itoa(failed), "200, 0", running == 200 && failed == 0)
	b.row("200 jobs at once: the watcher's RssAnon", mib(t, w), "<= 48 MB", anon <= 48e6)
	want(t, "killed", strings.Count(c.Exec(t, "hostexec", "kill", "--all").Out, "\n"), 200)
	eventually(t, patience, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds+2 })
	b.row("200 jobs at once: descriptors kept after", "0", "0", true)
}

// startJobs starts 200 jobs, and returns the number that failed. Not all shims start at the same
// moment, because more than 64 connections without a request are refused.
func startJobs(t testing.TB, c *Container) (failed int) {
	t.Helper()
	r := c.Long(t, `for ((i = 1; i <= 200; i++)); do
		hostexec -d hsh -c 'echo out; echo err >&2; exec sleep 1000' >/dev/null || echo failed &
		((i % 20)) || wait
	done; wait`)
	return strings.Count(r.Out, "failed")
}
