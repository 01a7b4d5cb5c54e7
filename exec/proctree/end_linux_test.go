// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

const (
	short    = 50 * time.Millisecond // a grace that a test can wait for
	patience = time.Minute           // one that it must not need
)

// Attack 152.
func TestEnd(t *testing.T) {
	threads := StartConfig{Path: "/proc/self/exe", Args: []string{"threads"}, Env: append(os.Environ(), "PROCTREE_TEST_AS=threads")}
	tests := []struct {
		name  string
		start StartConfig
		grace time.Duration
	}{
		{"alone", sh("echo ready; exec sleep 1000"), patience},
		{"children", sh("sleep 1000 & sleep 1000 | sleep 1000 & echo ready; wait"), patience},
		{"forked by another thread", threads, patience},
		{"new session", sh("setsid sleep 1000 & echo ready; wait"), patience},
		{"double fork", sh("(sleep 1000 &); echo ready; sleep 1000"), patience},
		{"double fork into a new session", sh("(setsid sh -c 'sleep 1000 & echo ready; sleep 1000' &); sleep 1000"), patience},
		{"without environment", sh("(env -i sleep 1000 &); setsid env -i sleep 1000 & echo ready; wait"), patience},
		{"outlives its command", sh("setsid sleep 1000 & (sleep 1000 &); echo ready"), patience},
		{"ignores HUP", sh("trap '' HUP; sleep 1000 & echo ready; wait"), patience},
		{"stopped", sh("sleep 1000 & kill -STOP $!; echo ready; kill -STOP $$"), patience},
		{"ignores TERM", sh("trap '' TERM; sleep 1000 & echo ready; wait"), short},
		{"ignores TERM in a new session", sh("setsid sh -c \"trap '' TERM; echo ready; sleep 1000\" & wait"), short},
		{"forks for ever", sh("trap '' TERM; echo ready; while :; do sleep 0.01 & sleep 0.01; done"), short},
		{"forks into sessions for ever", sh("trap '' TERM; echo ready; f() { setsid sleep 1000 & }; i=0; while [ $i -lt 2000 ]; do f; sleep 0.01; i=$((i+1)); done"), short},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := start(t, newParent(t), tt.start)
			tr.ready(t)
			if err := tr.End(tt.grace); err != nil {
				t.Error(err)
			}
			tr.gone(t)
			tr.Reap()
		})
	}
}

// A command that cleans up gets the time for it, and TERM only once.
func TestGrace(t *testing.T) {
	tr := start(t, newParent(t), sh("trap 'n=x$n; while read l; do :; done < $0; echo $n; exit 3' TERM; echo ready; while :; do sleep 0.01; done", exectest.FIFO(t)))
	tr.ready(t)
	ended := make(chan error, 1)
	// ends when the tree has; the test waits for its value.
	go func() { ended <- tr.End(patience) }()
	name := tr.name(t)
	f, err := os.OpenFile(name, os.O_WRONLY, 0) // opens when the trap does
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got := tr.ready(t); got != "x" {
		t.Errorf("the trap ran for %q, want one x", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if ws := tr.Reap(); ws.ExitStatus() != 3 {
		t.Errorf("Reap = %v, want exit status 3", ws)
	}
}

// name returns the last argument of the tree's command.
func (tr tree) name(t *testing.T) string {
	t.Helper()
	args := strings.Split(string(readProcFile("/proc/"+strconv.Itoa(tr.Pid)+"/cmdline")), "\x00")
	return args[len(args)-2]
}

// One tree ends, its neighbour does not.
func TestEndLeavesOtherTrees(t *testing.T) {
	p := newParent(t)
	one, other := sh("(setsid sleep 1000 &); echo ready; exec sleep 1000"), sh("(setsid sleep 1000 &); echo ready; exec sleep 1000")
	one.ID, other.ID = "one", "on"
	a, b := start(t, p, one), start(t, p, other)
	a.ready(t)
	b.ready(t)
	var before []proc
	exectest.Eventually(t, "the neighbour has settled", func() bool {
		before = b.tree().alive
		return len(before) == 2
	})
	if err := a.End(patience); err != nil {
		t.Error(err)
	}
	a.gone(t)
	a.Reap()
	if after := b.tree().alive; !sameMembers(before, after) {
		t.Errorf("the neighbour's tree was %v and is %v", before, after)
	}
	if err := b.End(patience); err != nil {
		t.Error(err)
	}
	b.gone(t)
	b.Reap()
}

func TestParentEnd(t *testing.T) {
	p := newParent(t)
	left := start(t, p, sh("(setsid env -i sh -c 'trap \"\" TERM; echo ready; sleep 1000' &)"))
	left.ready(t)
	left.Reap()
	running := start(t, p, sh("echo ready; exec sleep 1000"))
	running.ready(t)
	if err := p.End(short); err != nil {
		t.Error(err)
	}
	left.gone(t)
	running.gone(t)
	running.Reap()
}

// What is to stay is known by the Parent's own word in its environment, and by no other.
func TestParentEndLeaves(t *testing.T) {
	p := newParent(t)
	s := sh("(setsid sh -c 'sleep 1000 & echo ready; sleep 1000' &)")
	s.Leave = true
	stays := start(t, p, s)
	stays.ready(t)
	stays.Reap()
	pid := orphan(t)
	for name, s := range map[string]StartConfig{
		"another call's":      sh("setsid sleep 1000 & echo ready"),
		"it says so itself":   sh("HOSTEXEC_LEAVE=1 setsid sleep 1000 & echo ready"),
		"its call still runs": {Path: "/bin/sh", Args: []string{"sh", "-c", "echo ready; exec sleep 1000"}, Leave: true},
	} {
		t.Run(name, func(t *testing.T) {
			ends := start(t, p, s)
			ends.ready(t)
			if err := p.End(patience); err != nil {
				t.Error(err)
			}
			ends.gone(t)
			ends.Reap()
			if !alive(pid) {
				t.Error("what was to stay has ended")
			}
		})
	}
	p.mu.Lock()
	p.leave = false // so that the test's own end takes it, too
	p.mu.Unlock()
}

// orphan waits until this process has adopted one, and returns its pid.
func orphan(t *testing.T) (pid int) {
	t.Helper()
	exectest.Eventually(t, "there is an orphan", func() bool {
		for _, child := range newChildLister().of(os.Getpid()) {
			if alive(child) && posixSession(child) != posixSession(0) {
				pid = child
				return true
			}
		}
		return false
	})
	return pid
}

// A pid that another process has got meanwhile is not signalled.
//
// Attack 151.
func TestPidReuse(t *testing.T) {
	tr := start(t, newParent(t), sh("echo ready; exec sleep 1000"))
	tr.ready(t)
	st, ok := readStat(tr.Pid)
	if !ok {
		t.Fatal("no stat")
	}
	e := treeEnding{}
	e.send(proc{tr.Pid, st.start - 1}, unix.SIGKILL)
	e.send(proc{tr.Pid, st.start}, unix.SIGUSR1)
	if ws := tr.Reap(); ws.Signal() != unix.SIGUSR1 {
		t.Errorf("Reap = %v, want killed by USR1 only", ws)
	}
}

// Both ways to look at the tree see the same.
func TestSnapshotsAgree(t *testing.T) {
	tr := start(t, newParent(t), sh("sleep 1000 & (sleep 1000 & sleep 1000; :) & echo ready; wait"))
	tr.ready(t)
	mine := func(_ int, c *Child) bool { return c == tr.Child }
	exectest.Eventually(t, "two ways show one tree", func() bool {
		a, b := childLister{of: childrenOf}.snapshot(mine).alive, scanProc().snapshot(mine).alive
		return len(a) == 5 && sameMembers(a, b)
	})
	if err := tr.End(patience); err != nil {
		t.Error(err)
	}
	tr.Reap()
}

func sameMembers(a, b []proc) bool {
	byPID := func(x, y proc) int { return x.pid - y.pid }
	slices.SortFunc(a, byPID)
	slices.SortFunc(b, byPID)
	return slices.Equal(a, b)
}

// A process that one snapshot has found ends with its tree. It has left its session, has no marker, and survives both
// TERM and its parent.
func TestEndKeepsFound(t *testing.T) {
	tr := start(t, newParent(t), sh(`setsid env -i sh -c 'trap "" TERM; echo ready; exec sleep 1000' & wait`))
	tr.ready(t)
	if err := tr.End(short); err != nil {
		t.Error(err)
	}
	tr.gone(t)
	tr.Reap()
}

// Without a descriptor no process can be seen. A tree that cannot be seen has not ended.
func TestEndWithoutDescriptors(t *testing.T) {
	tr := start(t, newParent(t), sh(`trap "" TERM; setsid sh -c 'trap "" TERM; echo ready; exec sleep 1000' & wait`))
	tr.ready(t)
	ended := make(chan error, 1)
	exectest.WithoutDescriptors(t, func() {
		before := failedOpens.Load()
		// ends when the tree has, after descriptors are allowed again
		go func() { ended <- tr.End(3 * time.Second) }() // before that, it kills nothing
		exectest.Eventually(t, "End looks in vain", func() bool { return failedOpens.Load() > before+10 })
		if tr.Exiting() {
			t.Error("a process that cannot be seen is taken for one that exits")
		}
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
	tr.gone(t)
	tr.Reap()
}

// An end that can see nothing gives up at its deadline, and kills the group before.
func TestEndBlind(t *testing.T) {
	tr := start(t, newParent(t), sh("echo ready; exec sleep 1000"))
	tr.ready(t)
	exectest.WithoutDescriptors(t, func() {
		if err := tr.End(0); !errors.Is(err, ErrBlind) {
			t.Errorf("End: %v, want %v", err, ErrBlind)
		}
	})
	tr.gone(t)
	tr.Reap()
}

// A process whose environment cannot be read may be one that is to stay.
func TestVariableWithoutDescriptors(t *testing.T) {
	const name = "PROCTREE_TEST_NONE="
	if hasVariable(os.Getpid(), name) {
		t.Errorf("%s is set", name)
	}
	exectest.WithoutDescriptors(t, func() {
		if !hasVariable(os.Getpid(), name) {
			t.Errorf("%s is known not to be set, but the environment cannot be read", name)
		}
	})
}

// A shell starts no further command when the one that it waits for is ended. It may get TERM much later than that
// command, after hundreds of its other children.
func TestEndStartsNothing(t *testing.T) {
	const many = "i=0; while [ $i -lt 300 ]; do sleep 1000 & i=$((i+1)); done; echo ready; "
	for name, script := range map[string]string{
		"a command":               "sleep 1000; echo went on",
		"one in its own session":  "setsid sleep 1000; echo went on",
		"a pipe":                  "sleep 1000 | sleep 1000; echo went on",
		"a shell in a background": "(sleep 1000; echo went on) & wait $!; echo went on",
	} {
		t.Run(name, func(t *testing.T) {
			tr := start(t, newParent(t), sh(many+script))
			tr.ready(t)
			if err := tr.End(patience); err != nil {
				t.Error(err)
			}
			if rest, _ := io.ReadAll(tr.out); len(rest) > 0 {
				t.Errorf("TERM was followed by %q", rest)
			}
			if ws := tr.Reap(); ws.Signal() != unix.SIGTERM {
				t.Errorf("Reap = %v, want TERM", ws)
			}
		})
	}
}

// What a handler of TERM starts to clean up gets no TERM.
func TestEndLeavesCleanup(t *testing.T) {
	tr := start(t, newParent(t), sh("trap 'sleep 0.1; echo $?; exit 3' TERM; echo ready; while :; do sleep 0.01; done"))
	tr.ready(t)
	if err := tr.End(patience); err != nil {
		t.Error(err)
	}
	if got := tr.ready(t); got != "0" {
		t.Errorf("the handler's command ended with %s, want 0", got)
	}
	tr.Reap()
}
