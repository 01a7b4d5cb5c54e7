// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/go-units"
)

// outputs measures a command's output of 1 KiB to 1 GiB against the same from a local program. The start counts.
func (b *bench) outputs(t *testing.T) {
	const rounds = 5
	levels := []struct{ bytes, each int }{{1 << 10, 8}, {1 << 20, 4}, {64 << 20, 2}, {1 << 30, 1}}
	carriers := []string{"socket", "relay"}
	took := map[string][2][]int64{} // local, call
	for range rounds {
		for _, carrier := range carriers {
			c := b.through(t, carrier)
			for _, l := range levels {
				gen, key := []string{"gen", itoa(l.bytes)}, carrier+itoa(l.bytes)
				args := append([]string{"through", itoa(l.each), "/probe"}, gen...)
				args = append(append(args, "--", "/run/hostexec/bin/hp"), gen...)
				lists := b.timesOf(t, c, args...)
				took[key] = [2][]int64{append(took[key][0], lists[0]...), append(took[key][1], lists[1]...)}
			}
		}
	}
	for _, carrier := range carriers {
		for _, l := range levels {
			times := took[carrier+itoa(l.bytes)]
			speed := quantile(times[0], 0.5) / quantile(times[1], 0.5)
			b.row(bytesize(float64(l.bytes))+" of stdout over a "+carrier+": throughput, as a fraction of a local pipe's",
				ratio(speed), "", true)
			b.point("output", carrier, float64(l.bytes), speed)
		}
	}
}

func bytesize(f float64) string {
	return units.CustomSize("%.0f %s", f, 1024, []string{"B", "KiB", "MiB", "GiB"})
}

// through returns the container whose calls come by a carrier. It is started once.
func (b *bench) through(t *testing.T, carrier string) *Container {
	t.Helper()
	if b.by[carrier] == nil {
		noop := filepath.Join(b.host.Home, "noop")
		writeNoop(t, noop)
		if b.by == nil {
			b.by = map[string]*Container{}
			writeEmpty(t, filepath.Join(b.host.Work, "empty"))
		}
		b.by[carrier] = b.host.Holding(t, "--proxy", "noop="+noop, "--proxy", "hp="+probePath(t), "--network", "none",
			"--carrier", carrier)
	}
	return b.by[carrier]
}

// crowds measures up to 1000 calls at once, each by a caller that makes the next one when it has ended, against starts
// of an empty program in the same container.
func (b *bench) crowds(t *testing.T) {
	const rounds = 3
	levels := []int{1, 10, 100, 1000}
	c := b.through(t, "socket")
	local, call := map[int][]int64{}, map[int][]int64{}
	rates := map[int][2][]int64{} // how long a run took: local, calls
	for range rounds {
		for _, n := range levels {
			runs := itoa(max(200, 4*n))
			lists := b.timesOf(t, c, "crowd", itoa(n), runs, "/w/empty")
			calls := b.timesOf(t, c, "crowd", itoa(n), runs, "/run/hostexec/bin/noop")
			local[n], call[n] = append(local[n], lists[0]...), append(call[n], calls[0]...)
			rates[n] = [2][]int64{append(rates[n][0], lists[1]...), append(rates[n][1], calls[1]...)}
		}
	}
	u := quantile(local[1], 0.5)
	for _, n := range levels {
		x, name := float64(n), "calls of a command that does nothing, "+itoa(n)+" in flight"
		for _, q := range []float64{0.5, 0.95} {
			p := fmt.Sprintf("p%.0f", q*100)
			times := quantile(call[n], q) / quantile(local[n], q)
			b.row(name+": "+p+", as a multiple of as many local starts", ratio(times), "", true)
			b.row(name+": "+p, millis(quantile(call[n], q)), "", true)
			b.point("flight", "call, "+p, x, quantile(call[n], q)/u)
			b.point("flight", "local start, "+p, x, quantile(local[n], q)/u)
		}
		rate := quantile(rates[n][0], 0.5) / quantile(rates[n][1], 0.5)
		b.row(name+": calls per second, as a fraction of local starts", ratio(rate), "", true)
		second := float64(len(call[n])/rounds) / quantile(rates[n][1], 0.5) * 1e9
		b.row(name+": calls per second", fmt.Sprintf("%.0f", second), "", true)
	}
}

// manySessions measures what up to 200 sessions need at rest, and how long status takes against docker ps.
func (b *bench) manySessions(t *testing.T) {
	h := newHost(t, false)
	have := 0
	for _, n := range []int{1, 10, 50, 200} {
		h.startSessions(t, n-have)
		have = n
		<-time.After(5 * time.Second) // watchers return memory 3 s after they needed it last
		for name, words := range map[string]string{"watcher": " watcher ", "keeper": "hostexec-keeper "} {
			pids, sum := processes(words, h.State), 0
			want(t, name+"s", len(pids), n)
			for _, pid := range pids {
				sum += statusNum(t, pid, "RssAnon")
			}
			each := float64(sum) / 1024 / float64(n)
			b.row("sessions at rest, "+itoa(n)+": RssAnon of each "+name, fmt.Sprintf("%.1f MiB", each), "", true)
			b.point("memory", name, float64(n), each)
		}
		var status, ps []int64
		on := &bench{host: h}
		for range 10 {
			status = append(status, on.clock(t, "docker", "hostexec", "status"))
			ps = append(ps, on.clock(t, "docker", "ps", "--filter", "label="+runLabel))
		}
		times := quantile(status, 0.5) / quantile(ps, 0.5)
		b.row("sessions, "+itoa(n)+": `docker hostexec status`, p50, as a multiple of `docker ps`", ratio(times), "", true)
		b.row("sessions, "+itoa(n)+": `docker hostexec status`, p50", millis(quantile(status, 0.5)), "", true)
		b.point("status", "docker hostexec status", float64(n), times)
	}
}

// startSessions starts that many containers, four at once, which are removed at the end of the test.
func (h *Host) startSessions(t *testing.T, n int) {
	t.Helper()
	const long = 5 * time.Minute
	args := h.runArgs("-d", "--network", "none", "--proxy", "htrue=/bin/true", image(t, "empty"), "hold")
	ids := make([]string, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range ids {
		// ends with docker; it is waited for below.
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ids[i] = strings.TrimSpace(h.feedFor(t, long, "", "docker", args...).Out)
		})
	}
	wg.Wait()
	t.Cleanup(func() { h.feedFor(t, long, "", "docker", append([]string{"rm", "-f"}, ids...)...) })
}
