// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"slices"
	"strconv"
	"time"
)

// In the middle of its exec a process shows no environment, so its marker cannot be read. A
// process without a command line is in its exec for sure, which can last long on a busy machine. A
// process with a command line probably has an empty environment.
const (
	execWait         = 5 * time.Millisecond
	execWaitNameless = 500 * time.Millisecond
)

// awaitExecOfOrphans waits until the markers of the orphans among own can be read.
func awaitExecOfOrphans(own map[int]*Child) {
	var orphans []int
	for pid, c := range own {
		if c == nil {
			orphans = append(orphans, pid)
		}
	}
	awaitExec(orphans)
}

// awaitExec waits until no process of pids can be in the middle of its exec. All of them share one
// time limit, so that many processes with an empty environment cost as much as one.
func awaitExec(pids []int) {
	begin := time.Now()
	for pause := 50 * time.Microsecond; ; pause *= 2 {
		waited := time.Since(begin)
		pids = slices.DeleteFunc(pids, func(pid int) bool { return settled(pid, waited) })
		if len(pids) == 0 {
			return
		}
		time.Sleep(min(pause, execWait))
	}
}

// settled reports whether waiting longer for the environment of a process is of no use.
func settled(pid int, waited time.Duration) bool {
	if _, ok := markerOf(pid); ok || !alive(pid) || waited > execWaitNameless {
		return true
	}
	return waited > execWait && len(readProcFile("/proc/"+strconv.Itoa(pid)+"/cmdline")) > 0
}
