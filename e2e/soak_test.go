// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// The load of a soak: callsPerSecond in soakContainers containers.
const (
	soakContainers = 20
	callsPerSecond = 50
)

// TestSoak makes 50 calls a second in 20 containers for HOSTEXEC_SOAK (40 minutes unless it is set). Every call succeeds,
// and after the first quarter the watchers need no more memory, descriptors and threads. A report goes to
// HOSTEXEC_REPORTS.
func TestSoak(t *testing.T) {
	d := 40 * time.Minute
	if text := os.Getenv("HOSTEXEC_SOAK"); text != "" {
		var err error
		d, err = time.ParseDuration(text)
		check(t, err)
	}
	x := &soak{Host: newHost(t, os.Getuid() == 0), t: t}
	x.begin()
	began := time.Now()
	tick := time.NewTicker(max(d/200, time.Second))
	defer tick.Stop()
	for time.Since(began) < d {
		<-tick.C
		x.samples = append(x.samples, x.sample())
	}
	r := soakReport{Date: time.Now().UTC().Format(time.DateOnly), Seconds: int(time.Since(began).Seconds()), Containers: soakContainers}
	x.end(&r)
	x.compare(&r)
	appendReport(t, r)
}

// soak is a person's sessions under a constant load.
type soak struct {
	*Host
	t        *testing.T
	sessions []*loaded
	watchers []*Proc
	samples  []soakSample
}

// soakSample is what all watchers together use at one moment.
type soakSample struct{ anon, fds, threads int }

// soakReport is what is reported of one run. Of memory, descriptors and threads it has the medians of all watchers
// together in the second quarter, and in the last.
type soakReport struct {
	Date                string
	Seconds, Containers int
	Calls, Failed       int
	Late                float64 // the most that a call ended after its timeout, in seconds
	KiB, FDs, Threads   [2]int
}

func (x *soak) begin() {
	t := x.t
	x.prepareLoads(t)
	for i := range soakContainers {
		carrier := []string{"socket", "socket", "socket", "relay", "files"}[i%5]
		flags := []string{"--carrier", carrier, "--proxy", "hload=" + probePath(t)}
		l := x.loaded(t, fmt.Sprintf("%s %d", carrier, i), image(t, "full"), flags,
			fmt.Sprint(float64(callsPerSecond)/soakContainers), "0", "quick", "quick", "quick", "slow", "output")
		x.sessions = append(x.sessions, l)
		x.watchers = append(x.watchers, x.Watcher(t, l.Session))
	}
}

func (x *soak) sample() (s soakSample) {
	for i, w := range x.watchers {
		if w.Gone(0) {
			x.t.Fatalf("the watcher of %s has ended", x.sessions[i].name)
		}
		s.anon += statusNum(x.t, w.PID, "RssAnon")
		s.fds += countFDs(x.t, w.PID)
		s.threads += statusNum(x.t, w.PID, "Threads")
	}
	return s
}

// end ends the loads, and counts their calls.
func (x *soak) end(r *soakReport) {
	x.endLoads(x.t, x.sessions)
	for _, l := range x.sessions {
		for _, c := range l.calls {
			r.Calls++
			r.Late = max(r.Late, c.Took-c.Timeout)
			if !c.Expected || c.Problem != "" {
				r.Failed++
				x.t.Errorf("%s: %s of %s: code %d after %.1f s: %s%s", l.name, c.Token, c.Kind, c.Code, c.Took, c.Problem, c.Stderr)
			}
		}
	}
}

// compare compares the second quarter with the last.
func (x *soak) compare(r *soakReport) {
	n := len(x.samples)
	for part, samples := range [][]soakSample{x.samples[n/4 : n/2], x.samples[3*n/4:]} {
		r.KiB[part] = median(samples, func(s soakSample) int { return s.anon })
		r.FDs[part] = median(samples, func(s soakSample) int { return s.fds })
		r.Threads[part] = median(samples, func(s soakSample) int { return s.threads })
	}
	const spread = 5 // percent
	for what, v := range map[string][2]int{"KiB of memory": r.KiB, "descriptors": r.FDs, "threads": r.Threads} {
		if v[1]*100 > v[0]*(100+spread) {
			x.t.Errorf("%s grow from %d in the second quarter to %d in the last", what, v[0], v[1])
		}
	}
}

func median(samples []soakSample, of func(soakSample) int) int {
	var list []int
	for _, s := range samples {
		list = append(list, of(s))
	}
	slices.Sort(list)
	return list[len(list)/2]
}
