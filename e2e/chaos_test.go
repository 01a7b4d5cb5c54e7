// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// chaos is a person's sessions under load while faults are injected, and what is known of both.
//
//	load in each container --calls--> sessions <--kill, stop, fill ... -- faults
//	       '-- a record of each call      '-- evidence of each command, audit log
type chaos struct {
	*Host
	t        *testing.T
	random   *rand.Rand
	sessions []*loaded
	second   *engine
	events   []event // the faults, and when they were healed
	answers  racingAnswers
	proxied  proxiedRuns

	background sync.WaitGroup
}

// event is a fault and the time until it was healed. session is nil if it hits all of them.
type event struct {
	fault   string
	session *loaded
	stops   bool // the caller itself is stopped, so that it is late
	begin   time.Time
	end     time.Time
}

// chaosTime is how long faults are injected: HOSTEXEC_CHAOS, or half a minute.
func chaosTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HOSTEXEC_CHAOS")
	if text == "" {
		return 30 * time.Second
	}
	d, err := time.ParseDuration(text)
	check(t, err)
	return d
}

// TestIntegrationChaos injects faults for HOSTEXEC_CHAOS (30 s unless it is set) while calls of all kinds come by all
// carriers. Afterwards no command has run without START, no question was answered twice, no caller was later than its
// timeout by more than two seconds, and nothing is left of the sessions. A report goes to HOSTEXEC_REPORTS.
func TestIntegrationChaos(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("only root can mount a small file system and start an engine")
	}
	x := newChaos(t)
	t.Cleanup(x.showLeft)
	x.begin()
	deadline := time.Now().Add(chaosTime(t))
	began := time.Now()
	for time.Now().Before(deadline) {
		x.inject(x.pick())
		<-time.After(time.Duration(x.random.IntN(700)) * time.Millisecond)
	}
	x.end()
	x.verify()
	x.report(time.Since(began))
}

func newChaos(t *testing.T) *chaos {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	x := &chaos{Host: newHost(t, true), t: t, random: rand.New(rand.NewPCG(seed, 0))}
	x.mountState()
	x.Write(t, x.State, "config.yaml", "version: 1\napproval: {wait: always}\n", 0o600)
	x.prepareLoads(t)
	x.Env = append(x.Env, "MEMORY_GROUP="+memoryGroup(t, int(x.cred.Uid)), "HOSTEXEC_NO_BROWSER=1")
	return x
}

// mountState puts the state on a small file system, so that it can be full.
func (x *chaos) mountState() {
	x.t.Helper()
	options := fmt.Sprintf("size=384m,nr_inodes=30k,mode=700,uid=%d,gid=%d", x.cred.Uid, x.cred.Gid)
	check(x.t, unix.Mount("chaos", x.State, "tmpfs", 0, options))
	x.t.Cleanup(func() {
		if err := unix.Unmount(x.State, unix.MNT_DETACH); err != nil {
			x.t.Error(err)
		}
	})
}

// memoryGroup makes a control group whose processes the kernel ends when they use much memory, or returns "".
func memoryGroup(t *testing.T, uid int) string {
	t.Helper()
	for _, g := range [][2]string{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} { // v1, v2
		dir := filepath.Join(g[0], "hostexec-chaos-"+itoa(os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		f, err := os.OpenFile(filepath.Join(dir, g[1]), os.O_WRONLY, 0)
		if err != nil {
			continue // it is no control group
		}
		_, err = f.WriteString("16777216")
		check(t, errors.Join(err, f.Close()))
		check(t, os.Chown(filepath.Join(dir, "cgroup.procs"), uid, uid))
		return dir
	}
	return ""
}

// begin starts the sessions and their loads.
func (x *chaos) begin() {
	t := x.t
	probe := probePath(t)
	kinds := []string{"quick", "quick", "quick", "slow", "late", "deaf", "output", "job"}
	if !strings.HasSuffix(x.Env[len(x.Env)-2], "=") {
		kinds = append(kinds, "memory")
	}
	flags := []string{"--proxy", "hload=" + probe}
	for name, more := range map[string][]string{"socket": nil, "relay": {"--carrier", "relay"}, "files": {"--carrier", "files"}} {
		x.add(name, append(slices.Clone(flags), more...), kinds)
	}
	x.add("asked", append(flags, "--proxy", "hask=ask,path="+probe), append(kinds, "asked", "asked", "asked", "asked"))
	if chaosTime(t) > 5*time.Minute {
		x.addSecondEngine(flags, kinds)
	}
	x.answers.begin(x)
	x.proxied.begin(x, flags)
}

func (x *chaos) add(name string, flags, kinds []string) {
	x.t.Helper()
	x.sessions = append(x.sessions, x.loaded(x.t, name, image(x.t, "full"), flags, append([]string{"0", "4"}, kinds...)...))
}

// addSecondEngine adds a session of an engine that faults may stop.
func (x *chaos) addSecondEngine(flags, kinds []string) {
	x.t.Helper()
	x.second = newEngine(x.t)
	h := &Host{Name: x.Name, Home: x.Home, State: x.State, Work: x.Work, cred: x.cred, Env: append(slices.Clone(x.Env), x.second.env()...)}
	h.load(x.t, fullImage(x.t), engineRef)
	flags = append([]string{"--network", "none"}, flags...)
	x.sessions = append(x.sessions, h.loaded(x.t, "second engine", engineRef, flags, append([]string{"0", "4"}, kinds...)...))
}

// end ends the loads, the answers and the API proxy.
func (x *chaos) end() {
	x.endLoads(x.t, x.sessions)
	x.answers.end()
	x.proxied.end()
}

// report adds a line to the report of HOSTEXEC_REPORTS.
func (x *chaos) report(took time.Duration) {
	r := chaosReport{Date: time.Now().UTC().Format(time.DateOnly), Seconds: int(took.Seconds()), Faults: map[string]int{}, Codes: map[string]int{}}
	for _, e := range x.events {
		r.Faults[e.fault]++
	}
	for _, l := range x.sessions {
		for _, c := range l.calls {
			r.Calls++
			r.Codes[fmt.Sprint(c.Code)]++
			r.Late = max(r.Late, c.Took-c.Timeout)
		}
	}
	r.Questions, r.Decisions = x.answers.asked, x.answers.settled
	r.Containers = x.proxied.started
	appendReport(x.t, r)
}

// chaosReport is what is reported of one run.
type chaosReport struct {
	Date       string
	Seconds    int
	Calls      int
	Codes      map[string]int // calls by exit code
	Faults     map[string]int // by kind
	Questions  int            // that were answered twice at once
	Decisions  int            // that one answer settled
	Containers int            // started behind the API proxy
	Late       float64        // the most that a call ended after its timeout, in seconds
}
