// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"maps"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// proc is a process of a tree. Pid and start time together name it for ever.
type proc struct {
	pid   int
	start uint64
}

// childLister is one look at who is whose child.
type childLister struct {
	of func(pid int) []int // pid's children, whichever of its threads forked them
}

// newChildLister looks where the kernel lists children, or else at every process there is
// (CONFIG_PROC_CHILDREN may be off).
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
			parent = unix.Getpid() // it ended meanwhile: what it left may be ours now
		}
		byParent[parent] = append(byParent[parent], pid)
	}
	return childLister{of: func(pid int) []int { return byParent[pid] }}
}

// snapshot is what one look at a tree showed.
type snapshot struct {
	alive []proc       // parents before children
	dead  map[int]bool // whose children may have moved while it was looked
}

// snapshot looks at those of this process's children that match and at their descendants. c
// is nil for an orphan: a child that no Parent forked, or the supervisor of a command that was reaped.
func (k childLister) snapshot(match func(pid int, c *Child) bool) snapshot {
	s := snapshot{dead: map[int]bool{}}
	var roots []int
	own := k.own()
	settleOrphans(own)
	for pid, c := range own {
		if match(pid, c) {
			roots = append(roots, pid)
		} else if c == nil && !alive(pid) {
			s.dead[pid] = true // too late to tell whether it would have matched
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

// own returns this process's children. The kernel's list skips one when another before
// it is reaped meanwhile (proc_tid_children(5)), so none is.
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
		if c != nil && c.left {
			own[pid] = nil
		}
	}
	return own
}

// stat is what of /proc/PID/stat matters here.
type stat struct {
	state   byte
	ppid    int
	threads int
	start   uint64
}

// alive reports whether a process still runs: a zombie does if it is only the first
// thread that ended.
func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' || s.threads > 1 }

func alive(pid int) bool {
	s, ok := readStat(pid)
	return ok && s.alive()
}

func readStat(pid int) (s stat, ok bool) {
	text := readProcFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name, which the process chooses, is in parentheses and may contain some.
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return s, false
	}
	f := bytes.Fields(text[i+1:]) // from the third field of proc_pid_stat(5) on
	if len(f) < 20 {
		return s, false
	}
	s.state = f[0][0]
	s.ppid, _ = strconv.Atoi(string(f[1]))
	s.threads, _ = strconv.Atoi(string(f[17]))
	s.start, _ = strconv.ParseUint(string(f[19]), 10, 64)
	return s, true
}

// hasMarker reports whether a process was started for the request id, or for a part of
// what id names: the marker of a shell's command names the request, a dot, and the shell.
func hasMarker(pid int, id string) bool {
	value, _ := markerOf(pid)
	if string(value) == id {
		return true
	}
	for part := range bytes.SplitSeq(value, []byte(".")) {
		if string(part) == id {
			return true
		}
	}
	return false
}

// markerOf returns the marker of a process, and whether it has an environment. For a moment
// of its exec it has none.
func markerOf(pid int) (value []byte, ok bool) {
	env := environ(pid)
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(Marker+"=")); ok {
			return v, true
		}
	}
	return nil, len(env) > 0
}

// hasVariable reports whether a process was started with marker in its environment, NAME=VALUE
// or only NAME=. Of one that lets nobody read that, as agents which hold keys do, it
// cannot be said that it was not.
func hasVariable(pid int, marker string) bool {
	return hasVariablePrefix(environ(pid), marker) || unix.Access(environFile(pid), unix.R_OK) == unix.EACCES
}

func environFile(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/environ" }

// environ is the environment that a process was started with.
func environ(pid int) []byte { return readProcFile(environFile(pid)) }

// hasVariablePrefix reports whether a variable of env begins with text.
func hasVariablePrefix(env []byte, text string) bool {
	return bytes.HasPrefix(env, []byte(text)) || bytes.Contains(env, []byte("\x00"+text))
}

// readProcFile returns what a file of /proc says, nothing if it is gone. os.ReadFile would
// first ask the poller about it.
func readProcFile(name string) []byte {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 512)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return b
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

func dirNames(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.Readdirnames(-1) // what was listed before it vanished is enough
	return list
}
