// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// allowedDelay is how long after its timeout a caller may have waited. A short run beside other tests gives more.
func (x *chaos) allowedDelay() time.Duration {
	if os.Getenv("HOSTEXEC_CHAOS") == "" {
		return patience
	}
	return 2 * time.Second
}

// verify checks what has to hold after all faults.
func (x *chaos) verify() {
	t := x.t
	for _, l := range x.sessions {
		x.verifyCalls(l)
	}
	if len(x.answers.both) > 0 {
		t.Errorf("questions that were approved and denied: %v", x.answers.both)
	}
	x.verifyIdle()
	for _, l := range x.sessions {
		x.resume(l)
		l.Host.Must(t, "rm", "-f", l.ID)
	}
	// A proxy that is killed between the creation and the start of a container leaves it, as docker run does.
	if left := strings.Fields(x.Must(t, "ps", "-aq", "--filter", "label=io.hostexec.chaos", "--filter", "label="+runLabel)); len(left) > 0 {
		x.Must(t, append([]string{"rm", "-f"}, left...)...)
	}
	for _, pid := range x.pages() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	x.background.Wait()
	x.verbMust("prune", "--force")
	x.verifyEvidence()
	x.quiet(t, 2*patience)
	for _, pid := range processes("work", x.evidenceFile()) {
		t.Errorf("process %d is left: %s", pid, cmdline(pid))
	}
}

// showLeft shows the sessions that are left.
func (x *chaos) showLeft() {
	if !x.t.Failed() {
		return
	}
	for _, e := range x.events {
		x.t.Logf("%s to %s: %s of %s", e.begin.Format(time.TimeOnly), e.end.Format(time.TimeOnly), e.fault, e.session.name)
	}
	x.t.Logf("status: %v", x.Docker(x.t, "hostexec", "status", "-a"))
	for _, pid := range processes(x.State) {
		x.t.Logf("process %d is left: %s", pid, cmdline(pid))
	}
	for _, l := range x.sessions {
		r := l.Host.Docker(x.t, "top", l.ID, "-eo", "pid,stat,wchan:20,args")
		x.t.Logf("%s: %s", l.name, r.Out+r.Err)
	}
	for _, dir := range x.Sessions(x.t) {
		x.t.Logf("session %s is left: %s\n%s", dir, readFile(x.t, filepath.Join(dir, "session.json")), readFile(x.t, filepath.Join(dir, "watch.log")))
	}
}

// verifyCalls checks the calls of one load.
func (x *chaos) verifyCalls(l *loaded) {
	if len(l.calls) == 0 {
		x.t.Errorf("%s: no calls", l.name)
	}
	good := 0
	for _, c := range l.calls {
		if c.Problem != "" {
			x.t.Errorf("%s: %s of %s: %s", l.name, c.Token, c.Kind, c.Problem)
		}
		if late := c.Took - c.Timeout; late > x.allowedDelay().Seconds() && !x.callerStopped(l, c) {
			x.t.Errorf("%s: %s of %s ended %.1f s after its timeout with code %d: %s%v", l.name, c.Token, c.Kind, late, c.Code, c.Stderr, x.during(l, c))
		}
		if c.Expected {
			good++
			continue
		}
		if c.Code < 128 && c.Stderr == "" {
			x.t.Errorf("%s: %s of %s: code %d without a reason: %v", l.name, c.Token, c.Kind, c.Code, x.during(l, c))
		}
	}
	if good == 0 {
		x.t.Errorf("%s: none of %d calls has succeeded", l.name, len(l.calls))
	}
}

// callerStopped reports whether a fault stopped the caller of c.
func (x *chaos) callerStopped(l *loaded, c loadCall) bool {
	return slices.ContainsFunc(x.events, func(e event) bool { return e.stops && e.session == l && e.during(c) })
}

// during lists the faults during the call c.
func (x *chaos) during(l *loaded, c loadCall) (list []string) {
	for _, e := range x.events {
		if e.during(c) {
			list = append(list, e.fault+" of "+e.session.name)
		}
	}
	return list
}

func (e event) during(c loadCall) bool { return e.begin.Before(c.end()) && e.end.After(c.Start) }

// verifyIdle checks that the sessions hold nothing of calls that have ended.
func (x *chaos) verifyIdle() {
	for _, l := range x.sessions {
		x.resume(l)
		w := x.watcher(l)
		eventually(x.t, patience, l.name+": no process of a call is left", func() bool { return len(children(x.t, w)) == 0 })
		eventually(x.t, patience, l.name+": the descriptors are returned", func() bool { return countFDs(x.t, w) <= 64 })
	}
}

// verifyEvidence checks that each command that has run was recorded before.
func (x *chaos) verifyEvidence() {
	t := x.t
	started, decided, ended := map[string]int{}, map[string]int{}, map[string]int{}
	for _, line := range x.Audit(t, " request=") {
		if strings.HasSuffix(line, "[torn]") { // the disk was full; it is written again
			continue
		}
		switch strings.Fields(line)[2] {
		case "START":
			started[requestOf(line)]++
		case "APPROVE", "DENY", "TIMEOUT":
			decided[requestOf(line)]++
		case "COMPLETE":
			ended[requestOf(line)]++
		}
	}
	ran, unrecorded := 0, []string(nil)
	for line := range strings.Lines(string(readFile(t, x.evidenceFile()))) {
		id, token, _ := strings.Cut(strings.TrimSpace(line), " ")
		ran++
		if started[id] == 0 {
			unrecorded = append(unrecorded, token+" as request "+id)
		}
	}
	if n := len(unrecorded); n > 0 {
		t.Errorf("%d commands have run without START, among them %s", n, strings.Join(unrecorded[:min(n, 10)], ", "))
	}
	for what, requests := range map[string]map[string]int{"starts": started, "decisions": decided, "ends": ended} {
		for id, n := range requests {
			if n > 1 {
				t.Errorf("request %s has %d %s:\n%s", id, n, what, strings.Join(x.Audit(t, id), "\n"))
			}
		}
	}
	r := x.Docker(t, "hostexec", "audit", "verify")
	if r.Code != 0 {
		t.Errorf("audit verify: %v", r)
	}
	t.Logf("%d commands have run; %d records START", ran, len(started))
}

// requestOf returns the request of a line of the audit log.
func requestOf(line string) string {
	_, rest, _ := strings.Cut(line, " request=")
	id, _, _ := strings.Cut(rest, " ")
	return id
}

// verbMust runs a verb, which has to succeed.
func (x *chaos) verbMust(args ...string) { x.Must(x.t, append([]string{"hostexec"}, args...)...) }
