// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// reach measures calls that come by other carriers than the socket, and attach.
func (b *bench) reach(t *testing.T) {
	const rounds, each = 30, 5
	noop := filepath.Join(b.host.Home, "noop")
	writeNoop(t, noop)
	writeEmpty(t, filepath.Join(b.host.Work, "empty"))
	flags := []string{"--proxy", "noop=" + noop, "--proxy", "hsh=/bin/sh", "--network", "none"}
	relay := b.host.Holding(t, append(flags, "--carrier", "relay")...)
	files := b.host.Holding(t, append(flags, "--carrier", "files")...)
	clocks := []string{"/w/empty", "--", "/run/hostexec/bin/noop"}
	var u, byRelay, byFiles []int64
	for range rounds {
		lists := b.timesOf(t, relay, append([]string{"times", itoa(each)}, clocks...)...)
		u, byRelay = append(u, lists[0]...), append(byRelay, lists[1]...)
		lists = b.timesOf(t, files, append([]string{"times", itoa(each)}, clocks...)...)
		u, byFiles = append(u, lists[0]...), append(byFiles, lists[1]...)
	}
	base := quantile(u, 0.5)
	p50 := quantile(byRelay, 0.5) / base
	b.row("call over a relay of a command that does nothing, p50", ratio(p50)+" U", "<= 3 U", p50 <= 3)
	p50 = quantile(byFiles, 0.5) / base
	b.row("call by files of a command that does nothing, p50", ratio(p50)+" U", "<= 2.2 U", p50 <= 2.2)

	var exec, call []int64
	for range 5 {
		exec = append(exec, b.clock(t, "docker", "exec", relay.ID, "head", "-c", "268435456", "/dev/zero"))
		call = append(call, b.clock(t, "docker", "exec", relay.ID, "bash", "-c", "hsh -c 'head -c 268435456 /dev/zero' | cat >/dev/null"))
	}
	through := quantile(exec, 0.5) / quantile(call, 0.5)
	b.row("256 MiB of stdout over a relay: throughput, as a fraction of `docker exec`'s", ratio(through), ">= 0.6", through >= 0.6)
}

// attached measures attach against docker exec, and what watchers of a hundred containers
// that were attached at once take.
func (b *bench) attached(t *testing.T) {
	const containers = 100
	h := newHost(t, false)
	all := make([]*Container, containers)
	for i := range all {
		all[i] = h.startUnknown(t, "--network", "none")
	}
	attach := func(c *Container) int64 {
		return (&bench{host: h}).clock(t, "docker", "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", c.ID)
	}
	var took, exec []int64
	for _, c := range all[:20] {
		exec = append(exec, (&bench{host: h}).clock(t, "docker", "exec", c.ID, "/bin/true"))
		took = append(took, attach(c))
	}
	times := quantile(took, 0.5) / quantile(exec, 0.5)
	b.row("`docker hostexec attach`, p50, as a multiple of `docker exec`", ratio(times), "<= 4", times <= 4)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, c := range all[20:] {
		// ends when it is attached.
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			attach(c)
		})
	}
	wg.Wait()
	for _, c := range all {
		want(t, "a call", c.Exec(t, "hsh", "-c", "exit 3").Code, 3)
	}
	var most, before, after int
	watchers := processes(" watcher ", h.State)
	<-time.After(5 * time.Second) // watchers return the memory of calls 3 s after the last one
	for _, pid := range watchers {
		most, before = max(most, statusNum(t, pid, "RssAnon")), before+cpuTicks(t, pid)
	}
	b.row("containers attached at once that answer, watchers", fmt.Sprintf("%d, %d", len(all), len(watchers)), "100, 100", len(watchers) == containers)
	b.row("100 containers attached: RssAnon of the largest watcher", fmt.Sprintf("%.1f MB", float64(most)*1024/1e6), "<= 6 MB", float64(most)*1024 <= 6e6)
	<-time.After(5 * time.Second) // what is measured is this time
	for _, pid := range watchers {
		after += cpuTicks(t, pid)
	}
	b.row("100 containers attached: CPU time of all watchers in 5 s of rest", fmt.Sprintf("%d ticks", after-before), "0 ticks", after == before)
}
