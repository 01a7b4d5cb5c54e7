// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// calls measures a call of a command that does nothing against U, the start of an empty
// program in the same container.
func (b *bench) calls(t *testing.T) {
	const rounds, each = 40, 10
	noop := filepath.Join(b.host.Home, "noop")
	writeNoop(t, noop)
	writeEmpty(t, filepath.Join(b.host.Work, "empty"))
	c := b.host.Holding(t, "--proxy", "noop="+noop, "--proxy", "htrue="+find(t, "true"), "--read-only")
	clocks := []string{"/w/empty", "--", "/run/hostexec/bin/noop", "--", "/run/hostexec/bin/htrue"}
	b.timesOf(t, c, append([]string{"times", "50"}, clocks...)...) // warm

	var u, call, libc []int64
	for range rounds {
		lists := b.timesOf(t, c, append([]string{"times", itoa(each)}, clocks...)...)
		u, call, libc = append(u, lists[0]...), append(call, lists[1]...), append(libc, lists[2]...)
	}
	base, p50 := quantile(u, 0.5), quantile(call, 0.5)
	b.row("U: start of an empty static Go program in the container, p50", millis(base), "", true)
	b.row("call of a command that does nothing, p50", ratio(p50/base)+" U", "<= 1.8 U", p50/base <= 1.8)
	b.row("call of a command that does nothing, p95", ratio(quantile(call, 0.95)/base)+" U", "", true)
	b.row("call of `true`, which starts a C library first, p50", ratio(quantile(libc, 0.5)/base)+" U", "", true)
}

// sandbox measures what a sandbox adds to the start of a program. Calls on the host and in the sandbox take turns.
func (b *bench) sandbox(t *testing.T) {
	const rounds, each = 60, 5
	if !sandboxed(t, b.host) {
		return
	}
	c := b.host.Holding(t, "--proxy", "htrue="+find(t, "true"), "--proxy", "strue="+find(t, "true")+",where=sandbox", "--read-only")
	clocks := []string{"/run/hostexec/bin/htrue", "--", "/run/hostexec/bin/strue"}
	b.timesOf(t, c, append([]string{"times", "20"}, clocks...)...) // warm
	var on, in []int64
	for range rounds {
		lists := b.timesOf(t, c, append([]string{"times", itoa(each)}, clocks...)...)
		on, in = append(on, lists[0]...), append(in, lists[1]...)
	}
	p50 := quantile(in, 0.5) / quantile(on, 0.5)
	b.row("call of `true` in a sandbox, p50, as a multiple of one on the host", ratio(p50), "<= 1.5", p50 <= 1.5)
	b.row("call of `true` in a sandbox, p95, as a multiple of one on the host", ratio(quantile(in, 0.95)/quantile(on, 0.95)), "", true)
	b.row("call of `true` in a sandbox, p50, more than on the host", millis(quantile(in, 0.5)-quantile(on, 0.5)), "", true)
}

// kills measures how long a command outlives its shim when that is killed.
func (b *bench) kills(t *testing.T) {
	const rounds = 30
	c := b.host.Holding(t, "--proxy", "hsh=/bin/sh", "--read-only")
	var took []int64
	for range rounds {
		call := c.Start(t, "hsh", "-c", "echo $$; exec sleep 1000")
		p, shim := call.Host(t), hold(t, hostPIDOf(t, c, call.PID))
		start := time.Now()
		shim.Signal(t, 9)
		if !p.Gone(patience) {
			t.Fatal("the command outlives its shim")
		}
		took = append(took, time.Since(start).Nanoseconds())
		call.Ended(t)
	}
	p95 := quantile(took, 0.95)
	b.row("shim killed until the command is gone, p50", millis(quantile(took, 0.5)), "< 50 ms", quantile(took, 0.5) < 50e6)
	b.row("shim killed until the command is gone, p95", millis(p95), "< 50 ms", p95 < 50e6)
}

// hostPIDOf returns the host's number of a container's process.
func hostPIDOf(t *testing.T, c *Container, pid int) int {
	t.Helper()
	space := func(pid int) string {
		link, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)) // none: it has ended
		return link
	}
	mine := space(c.PID(t))
	for _, p := range processes() {
		if numbers := strings.Fields(status(p, "NSpid")); len(numbers) > 1 && numbers[len(numbers)-1] == itoa(pid) && space(p) == mine {
			return p
		}
	}
	t.Fatalf("no process of the host is %d in the container", pid)
	return 0
}
