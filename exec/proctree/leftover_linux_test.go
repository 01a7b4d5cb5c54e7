// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// leftOf returns the processes that the call id has left.
func leftOf(id string) (l Leftover, ok bool) {
	all := AllLeftovers()
	i := slices.IndexFunc(all, func(l Leftover) bool { return l.ID == id })
	if i < 0 {
		return Leftover{}, false
	}
	return all[i], true
}

// What a command that has ended left running is found, and ended, wherever it went; what
// another one has is not.
func TestLeftover(t *testing.T) {
	p := newParent(t)
	begin := time.Now()
	one := sh("setsid sleep 1000 & (trap '' TERM; sleep 1000; :) & echo ready")
	one.ID = "one"
	other := sh("sleep 1000 & echo ready; read x <&1")
	other.ID = "other"
	a, b := start(t, p, one), start(t, p, other)
	a.ready(t)
	b.ready(t)
	a.Reap()
	exectest.Eventually(t, "what is left are three", func() bool { l, _ := leftOf("one"); return l.Count == 3 })
	if l, _ := leftOf("one"); l.PID == a.Pid || len(l.Args) == 0 || l.Since.Before(begin.Add(-time.Second)) || l.Since.After(time.Now().Add(time.Second)) {
		t.Errorf("left: %+v", l)
	}
	if l, ok := leftOf("other"); ok {
		t.Errorf("of what runs is left: %+v", l)
	}
	if was, err := EndLeftovers("one", 50*time.Millisecond); !was || err != nil {
		t.Errorf("EndLeftovers = %v, %v", was, err)
	}
	a.gone(t)
	if was, err := EndLeftovers("one", 0); was || err != nil {
		t.Errorf("EndLeftovers again = %v, %v", was, err)
	}
	if !exectest.ProcessExists(b.Pid) {
		t.Error("the other one has ended")
	}
	if err := b.End(0); err != nil {
		t.Error(err)
	}
	b.Reap()
}

// completeScan returns a complete result. While many processes of the machine end, a scan may be incomplete.
func completeScan(t *testing.T) (found *ProcessScan) {
	t.Helper()
	exectest.Eventually(t, "a scan is complete", func() bool {
		found = ScanProcesses()
		return found != nil
	})
	return found
}

// What nobody's child is any more is found by its marker, with its descendants, and what this
// process is a part of is spared.
func TestEndSessionProcesses(t *testing.T) {
	p := newParent(t)
	one := sh("env -u " + SessionMarker + " sleep 1000 & (trap '' TERM; setsid sleep 1000; :) & echo ready; wait")
	one.Session = "lost"
	other := sh("sleep 1000 & echo ready; read x <&1")
	other.Session = "lost2"
	a, b := start(t, p, one), start(t, p, other)
	a.ready(t)
	b.ready(t)
	if found := completeScan(t); !found.MayHaveProcesses("lost") || !found.MayHaveProcesses("lost2") || found.MayHaveProcesses("los") || found.MayHaveKeeper("lost", "lost") {
		t.Errorf("ScanProcesses = %+v", found)
	}
	if was, err := EndSessionProcesses("lost", 50*time.Millisecond); !was || err != nil {
		t.Errorf("EndSessionProcesses = %v, %v", was, err)
	}
	a.Reap()
	a.gone(t)
	if found := completeScan(t); found.MayHaveProcesses("lost") || !found.MayHaveProcesses("lost2") {
		t.Errorf("ScanProcesses after EndSessionProcesses = %+v", found)
	}
	if was, err := EndSessionProcesses("lost", 0); was || err != nil {
		t.Errorf("EndSessionProcesses again = %v, %v", was, err)
	}
	if was, err := EndSessionProcesses("los", 0); was || err != nil {
		t.Errorf("EndSessionProcesses of a part of the id = %v, %v", was, err)
	}
	t.Setenv(SessionMarker, "lost2")
	if was, err := EndSessionProcesses("lost2", 0); was || err != errOwnSession || !exectest.ProcessExists(b.Pid) {
		t.Errorf("EndSessionProcesses of its own = %v, %v, want %v", was, err, errOwnSession)
	}
	if err := b.End(0); err != nil {
		t.Error(err)
	}
	b.Reap()
}

// Processes with an empty environment cost a look hardly more than others do: all of them are
// waited for together.
func TestManyWithoutEnvironment(t *testing.T) {
	const many = 200
	p := newParent(t)
	look := func(env string) time.Duration {
		tr := start(t, p, sh("i=0; while [ $i -lt $0 ]; do setsid $1 sleep 1000 & i=$((i+1)); done; echo ready", strconv.Itoa(many), env))
		tr.ready(t)
		tr.Reap()
		begin := time.Now()
		hasLeftovers("nobody")
		took := time.Since(begin)
		if err := p.End(short); err != nil {
			t.Error(err)
		}
		tr.gone(t)
		return took
	}
	with, without := look("env"), look("env -i")
	if limit := 5*with + many*execWait/4; without > limit {
		t.Errorf("a look at %d processes took %v, without environments %v, want at most %v", many, with, without, limit)
	}
}
