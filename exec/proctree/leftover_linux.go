// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func allLeftovers() []Leftover {
	k := newChildLister()
	own := k.own()
	awaitExecOfOrphans(own)
	runs := map[string]bool{}
	for _, c := range own {
		if c != nil {
			runs[c.id] = true
		}
	}
	found := map[string][]proc{}
	for pid, c := range own {
		if c != nil {
			continue
		}
		value, _ := markerOf(pid)
		id := string(value)
		if id == "" || runs[id] || strings.Contains(id, ".") { // processes of a shell belong to the shell
			continue
		}
		s := snapshot{dead: map[int]bool{}}
		k.walk([]int{pid}, &s)
		found[id] = append(found[id], s.alive...)
	}
	var all []Leftover
	for id, members := range found {
		if len(members) > 0 {
			oldest := slices.MinFunc(members, func(a, b proc) int {
				return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
			})
			all = append(all, Leftover{ID: id, PID: oldest.pid, Args: commandLine(oldest.pid), Since: oldest.since(), Count: len(members)})
		}
	}
	return all
}

func endLeftovers(id string, grace time.Duration) (was bool, err error) {
	e := treeEnding{find: func() snapshot {
		s := newChildLister().snapshot(func(pid int, c *Child) bool { return c == nil && hasMarker(pid, id) })
		was = was || len(s.alive) > 0
		return s
	}}
	return was, e.run(grace, nil)
}

func hasLeftovers(id string) bool {
	s := newChildLister().snapshot(func(pid int, c *Child) bool { return c == nil && hasMarker(pid, id) })
	return len(s.alive) > 0
}

// maxCommandLine is the number of bytes of a process's command line that are shown.
const maxCommandLine = 4 << 10

// commandLine returns the command line of a process. It is one empty string for kernel threads, and for processes that
// have just ended.
func commandLine(pid int) []string {
	b := readProcFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	text := strings.TrimSuffix(string(b[:min(len(b), maxCommandLine)]), "\x00")
	return strings.Split(text, "\x00")
}

// since returns the time of m's start, or a moment later, because the kernel reports hundredths of a second.
func (m proc) since() time.Time {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return time.Now()
	}
	age := time.Duration(now.Nano()) - time.Duration(m.start+1)*10*time.Millisecond
	return time.Now().Add(-max(0, age))
}
