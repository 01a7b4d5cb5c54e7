// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// bench collects what one run measures. What is compared is measured in turn, so that
// whatever else the machine does hits all of it.
type bench struct {
	host *Host
	rows []row

	series []series
	by     map[string]*Container // by the carrier of its calls

	sshConfig string // a line more for the configuration of the ssh server
}

// row is one line of the table. Only what has a target can be missed.
type row struct {
	what, measured, target string
	ok                     bool
}

func (b *bench) row(what, measured, target string, ok bool) {
	b.rows = append(b.rows, row{what, measured, target, ok})
}

// TestBench measures the figures that design.md promises and prints them as one table. A missed
// target is printed as missed; a failed measurement fails.
func TestBench(t *testing.T) {
	b := &bench{host: newHost(t, false)}
	b.calls(t)
	b.sandbox(t)
	b.gitPush(t)
	// Before there are many containers: each has a dozen pipes, and a user with more than
	// pipe-user-pages-soft (pipe(7)) gets pipes of two pages instead of sixteen.
	b.stream(t)
	b.reach(t)
	b.attached(t)
	b.kills(t)
	b.flight(t)
	b.manyJobs(t)
	b.largeTrees(t)
	b.queue(t)
	b.sizes(t)
	b.runs(t)
	fmt.Println(b.table(t))
}

func (b *bench) table(t *testing.T) string {
	var s strings.Builder
	s.WriteString(b.machine(t) + "\n\n| what | measured | target | |\n|---|---|---|---|\n")
	for _, r := range b.rows {
		verdict := map[bool]string{true: "ok", false: "miss"}[r.ok]
		if r.target == "" {
			verdict = ""
		}
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", r.what, r.measured, r.target, verdict)
	}
	return s.String()
}

// machine returns the date of the measurement, and the machine, as text.
func (b *bench) machine(t *testing.T) string {
	t.Helper()
	engine := strings.TrimSpace(b.host.Must(t, "version", "--format", "{{.Server.Version}}"))
	kernel, err := exec.Command("uname", "-r").Output()
	check(t, err)
	return fmt.Sprintf("%s, Linux %s, engine %s, %s, %d cores",
		time.Now().Format(time.DateOnly), strings.TrimSpace(string(kernel)), engine, runtime.Version(), runtime.NumCPU())
}

// quantile returns the q-th part of the times, 0.5 for the median, in nanoseconds.
func quantile(times []int64, q float64) float64 {
	sorted := slices.Clone(times)
	slices.Sort(sorted)
	return float64(sorted[int(q*float64(len(sorted)-1)+0.5)])
}

func ratio(r float64) string { return fmt.Sprintf("%.2f", r) }

func millis(ns float64) string { return fmt.Sprintf("%.1f ms", ns/1e6) }

// timesOf runs one of the probe's clocks in the container, and returns its lists.
func (b *bench) timesOf(t *testing.T, c *Container, args ...string) [][]int64 {
	t.Helper()
	r := b.host.feedFor(t, 5*time.Minute, "", "docker", c.execArgs(nil, append([]string{"/probe"}, args...)...)...)
	var lists [][]int64
	if err := json.Unmarshal([]byte(r.Out), &lists); err != nil {
		t.Fatalf("probe %q: %v: %v", args, err, r)
	}
	return lists
}

// clock times one command of the host's, which has to succeed.
func (b *bench) clock(t *testing.T, name string, args ...string) int64 {
	t.Helper()
	start := time.Now()
	r := b.host.feed(t, "", name, args...)
	took := time.Since(start)
	if r.Code != 0 {
		t.Fatalf("%s %q: %v", name, args, r)
	}
	return took.Nanoseconds()
}
