// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestIntegrationParallelCalls makes 5, 100 and 1000 concurrent calls. Each gets its own answer,
// within the memory and threads of design.md section 9. Afterwards all descriptors are closed.
//
// Attack 145.
func TestIntegrationParallelCalls(t *testing.T) {
	for _, h := range dockerUsers(t) {
		for _, n := range []int{5, 100, 1000} {
			t.Run(fmt.Sprintf("%s/%d", h.Name, n), func(t *testing.T) {
				c := h.Holding(t, "--proxy", "hcat="+find(t, "cat")).As("1000")
				w := h.Watcher(t, c.Session)
				fds := countFDs(t, w.PID)
				call := c.Start(t, "/probe", "burst", itoa(n), "hcat")
				want(t, "line", call.Line(t), "flying")
				wantFewResources(t, w)
				t.Logf("%d threads, %d KiB RssAnon, %d descriptors", statusNum(t, w.PID, "Threads"), statusNum(t, w.PID, "RssAnon"), countFDs(t, w.PID))
				_, err := fmt.Fprintln(call.In, "land")
				check(t, err)
				r := call.Wait(t)
				want(t, "failed calls", r.Out+r.Err, "0\n")
				eventually(t, soon, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds+2 })
			})
		}
	}
}

// TestIntegrationSequentialCalls makes 2000 calls, one after the other, and wants nothing to be
// left of them: no descriptor, no zombie, no file.
func TestIntegrationSequentialCalls(t *testing.T) {
	for _, h := range anyUser(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Shared(t, "socket").As("1000")
			w := h.Watcher(t, c.Session)
			folder := filepath.Join(h.State, "sessions", c.Session)
			want(t, "failed calls", c.Long(t, "/probe calls 200 htrue").Out, "0\n") // warm
			fds, files := countFDs(t, w.PID), countFiles(t, folder)
			want(t, "failed calls", c.Long(t, "/probe calls 2000 htrue").Out, "0\n")
			eventually(t, soon, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds })
			want(t, "files of the session", countFiles(t, folder), files)
			eventually(t, soon, "no child of the watcher is left", func() bool { return len(children(t, w.PID)) == 0 })
		})
	}
}

// wantFewResources holds a watcher with many calls to the memory and threads of design.md section 9.
func wantFewResources(t testing.TB, w *Proc) {
	t.Helper()
	within(t, "threads of the watcher", statusNum(t, w.PID, "Threads"), 48)
	within(t, "RssAnon of the watcher in bytes", statusNum(t, w.PID, "RssAnon")*1024, 24<<20)
}

// within fails the test if got is above limit.
func within(t testing.TB, what string, got, limit int) {
	t.Helper()
	if got > limit {
		t.Errorf("%s: %d, the limit is %d", what, got, limit)
	}
}

func countFDs(t testing.TB, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	check(t, err)
	return len(entries)
}
