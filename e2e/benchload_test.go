// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stream measures 1 GiB of a command's stdout against the same from a local program.
func (b *bench) stream(t *testing.T) {
	const rounds, bytes = "15", "1073741824"
	c := b.host.Holding(t, "--proxy", "hp="+probePath(t), "--read-only")
	r := c.Exec(t, "/probe", "inodes", "pipe", "hp", "fds")
	b.row("the command's 0, 1, 2 are the caller's own pipes", strings.TrimSpace(r.Out), "true true true", r.Out == "true true true\n")
	lists := b.timesOf(t, c, "through", rounds, "/probe", "gen", bytes, "--", "/run/hostexec/bin/hp", "gen", bytes)
	speed := quantile(lists[0], 0.5) / quantile(lists[1], 0.5)
	b.row("1 GiB of stdout: throughput, as a fraction of a local pipe's", ratio(speed), ">= 0.8", speed >= 0.8)
}

// flight measures 1000 calls in flight together.
func (b *bench) flight(t *testing.T) {
	c := b.host.Holding(t, "--proxy", "hcat="+find(t, "cat"))
	w := b.host.Watcher(t, c.Session)
	fds := countFDs(t, w.PID)
	call := c.Start(t, "/probe", "burst", "1000", "hcat")
	want(t, "line", call.Line(t), "flying")
	threads, anon := statusNum(t, w.PID, "Threads"), statusNum(t, w.PID, "RssAnon")*1024
	_, err := fmt.Fprintln(call.In, "land")
	check(t, err)
	failed := strings.TrimSpace(call.Wait(t).Out)
	b.row("1000 calls in flight: failures", failed, "0", failed == "0")
	b.row("1000 calls in flight: the watcher's RssAnon", fmt.Sprintf("%.1f MiB", float64(anon)/(1<<20)), "<= 24 MiB", anon <= 24<<20)
	b.row("1000 calls in flight: the watcher's threads", itoa(threads), "<= 48", threads <= 48)
	eventually(t, patience, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds+2 })
	b.row("1000 calls in flight: descriptors kept after", "0", "0", true)
}

// queue measures what 10,000 calls, one after the other, leave behind.
func (b *bench) queue(t *testing.T) {
	c := b.host.Holding(t, "--proxy", "noop="+find(t, "true"))
	w := b.host.Watcher(t, c.Session)
	dir := filepath.Join(b.host.State, "sessions", c.Session)
	b.row("a session at rest: RssAnon of the watcher", mib(t, w), "", true)
	run := func(n string) string {
		return strings.TrimSpace(b.host.feedFor(t, 5*time.Minute, "", "docker", c.execArgs(nil, "/probe", "calls", n, "noop")...).Out)
	}
	want(t, "failed calls", run("1000"), "0") // warm
	fds, files, anon := countFDs(t, w.PID), countFiles(t, dir), statusNum(t, w.PID, "RssAnon")
	failed := run("10000")
	b.row("10,000 calls in a row: failures", failed, "0", failed == "0")
	eventually(t, patience, "no child of the watcher is left", func() bool { return len(children(t, w.PID)) == 0 })
	b.row("10,000 calls in a row: children of the watcher after", "0", "0", true)
	more := max(countFDs(t, w.PID)-fds, 0)
	b.row("10,000 calls in a row: descriptors more than after 1000", itoa(more), "0", more == 0)
	more = countFiles(t, dir) - files
	b.row("10,000 calls in a row: files more", itoa(more), "0", more == 0)
	grown := statusNum(t, w.PID, "RssAnon") - anon
	b.row("10,000 calls in a row: RssAnon more", fmt.Sprintf("%d KiB", grown), "<= 1024 KiB", grown <= 1024)
	<-time.After(4 * time.Second) // the watcher returns memory 3 s after its last call
	ticks := cpuTicks(t, w.PID)
	<-time.After(5 * time.Second) // what it uses in that time is what is measured
	used := cpuTicks(t, w.PID) - ticks
	b.row("the watcher's CPU time in 5 s of rest", fmt.Sprintf("%d ticks", used), "0 ticks", used == 0)
}

func mib(t *testing.T, w *Proc) string {
	return fmt.Sprintf("%.1f MiB", float64(statusNum(t, w.PID, "RssAnon"))/1024)
}

// cpuTicks is utime and stime of a process, proc_pid_stat(5), in hundredths of a second.
func cpuTicks(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	check(t, err)
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	user, err := strconv.Atoi(fields[11])
	check(t, err)
	system, err := strconv.Atoi(fields[12])
	check(t, err)
	return user + system
}

// sizes measures the shims as they are embedded.
func (b *bench) sizes(t *testing.T) {
	files, err := filepath.Glob("../plugin/inject/shims/linux-*.zst")
	check(t, err)
	total, largest, name := 0, 0, ""
	for _, file := range files {
		packed, size, err := measure(file)
		check(t, err)
		total += packed
		if size > largest {
			largest, name = size, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "linux-"), ".zst")
		}
	}
	b.row("the largest shim ("+name+")", fmt.Sprintf("%.2f MB", float64(largest)/1e6), "<= 1.65 MB", largest <= maxShim)
	b.row(fmt.Sprintf("the %d shims, compressed", len(files)), fmt.Sprintf("%.2f MB", float64(total)/1e6), "<= 4.6 MB", total <= maxShims)
}

// runs measures what docker hostexec run adds to docker run.
func (b *bench) runs(t *testing.T) {
	const rounds = 25
	img, proxy := image(t, "busybox"), "noop="+find(t, "true")
	var took [4][]int64
	for range rounds {
		for i, args := range [][]string{
			{"run", "--rm", "--read-only", img, "true"},
			{"hostexec", "run", "--rm", "--read-only", "--proxy", proxy, img, "true"},
			{"run", "--rm", img, "true"},
			{"hostexec", "run", "--rm", "--proxy", proxy, img, "true"},
		} {
			took[i] = append(took[i], b.clock(t, "docker", args...))
		}
	}
	over := func(ours, docker int) float64 { return quantile(took[ours], 0.5) - quantile(took[docker], 0.5) }
	b.row("`docker run`, p50", millis(quantile(took[2], 0.5)), "", true)
	b.row("`docker hostexec run --read-only`, p50, more than `docker run`", "+"+millis(over(1, 0)), "<= +30 ms", over(1, 0) <= 30e6)
	b.row("`docker hostexec run`, p50, more than `docker run`", "+"+millis(over(3, 2)), "<= +75 ms", over(3, 2) <= 75e6)
}
