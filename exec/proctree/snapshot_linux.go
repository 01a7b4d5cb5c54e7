// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"maps"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// proc is a process of a tree. Pid and start time together identify it for ever.
type proc struct {
	pid   int
	start uint64
}

// childLister lists the children of processes.
type childLister struct {
	of func(pid int) []int // pid's children, whichever of its threads forked them
}

// newChildLister uses the kernel's lists of children, or else scans all processes (CONFIG_PROC_CHILDREN may be
// off).
func newChildLister() childLister {
	if listsChildren() {
		return childLister{of: childrenOf}
	}
	return scanProc()
}

var listsChildren = sync.OnceValue(func() bool {
	return unix.Access("/proc/thread-self/children", unix.F_OK) == nil
})

func childrenOf(pid int) (list []int) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	for _, tid := range dirNames(tasks) {
		for f := range bytes.FieldsSeq(readProcFile(tasks + "/" + tid + "/children")) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

func scanProc() childLister {
	parents := map[int]int{}
	for _, name := range dirNames("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if st, ok := readStat(pid); ok {
			parents[pid] = st.ppid
		}
	}
	byParent := map[int][]int{}
	for pid, parent := range parents {
		if _, ok := parents[parent]; !ok {
			parent = unix.Getpid() // it ended during the scan: its children may be ours now
		}
		byParent[parent] = append(byParent[parent], pid)
	}
	return childLister{of: func(pid int) []int { return byParent[pid] }}
}

// snapshot is the result of one look at a tree, which can change meanwhile.
type snapshot struct {
	alive []proc       // parents before children
	dead  map[int]bool // processes whose children may have been reparented during the snapshot
}

// snapshot returns those of this process's children that match, and their descendants. c is nil for an orphan:
// a child that no Parent forked, or the supervisor of a command that was reaped.
func (k childLister) snapshot(match func(pid int, c *Child) bool) snapshot {
	s := snapshot{dead: map[int]bool{}}
	var roots []int
	own := k.own()
	awaitExecOfOrphans(own)
	for pid, c := range own {
		if match(pid, c) {
			roots = append(roots, pid)
		} else if c == nil && !alive(pid) {
			s.dead[pid] = true // too late to know whether it would have matched
		}
	}
	k.walk(roots, &s)
	return s
}

// walk adds roots and their descendants to s.
func (k childLister) walk(roots []int, s *snapshot) {
	seen := map[int]bool{}
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		st, ok := readStat(pid)
		if ok && st.alive() {
			s.alive = append(s.alive, proc{pid, st.start})
		} else {
			s.dead[pid] = true
		}
		queue = append(queue, k.of(pid)...)
	}
}

// own returns this process's children. If a child is reaped while the kernel writes its list, the list may lack
// the next child (proc_tid_children(5)). So no child is reaped during own.
func (k childLister) own() map[int]*Child {
	children.mu.Lock()
	defer children.mu.Unlock()
	own := maps.Clone(children.byPID)
	if own == nil {
		own = map[int]*Child{}
	}
	for _, pid := range k.of(unix.Getpid()) {
		own[pid] = children.byPID[pid]
	}
	for pid, c := range own {
		if c != nil && c.abandoned {
			own[pid] = nil
		}
	}
	return own
}
