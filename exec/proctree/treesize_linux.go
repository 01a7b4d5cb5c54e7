// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"strconv"

	"golang.org/x/sys/unix"
)

func sizes() (all []Size) {
	k := newChildLister()
	own := k.own()
	leaders, running := map[int]string{}, map[string]bool{}
	for _, c := range own {
		if c != nil {
			leaders[c.leader], running[c.id] = c.id, true
		}
	}
	counts := map[string]int{}
	for pid, c := range own {
		id, known := leaders[posixSession(pid)]
		if c != nil {
			id = c.id
		} else if !known { // otherwise the process cannot choose its ID
			value, _ := markerOf(pid)
			id = string(value)
		}
		s := snapshot{dead: map[int]bool{}}
		k.walk([]int{pid}, &s)
		counts[id] += len(s.alive)
	}
	for id, n := range counts {
		all = append(all, Size{ID: id, Count: n, Running: running[id]})
	}
	return all
}

func endNow(id string) error {
	e := treeEnding{find: func() snapshot {
		return newChildLister().snapshot(func(pid int, c *Child) bool {
			switch {
			case c != nil:
				return c.id == id
			case id != "":
				return hasMarker(pid, id)
			}
			value, _ := markerOf(pid)
			group, err := unix.Getpgid(pid)
			return len(value) == 0 && err == nil && group != unix.Getpgrp() && !isSSH(pid) // not those of os/exec
		})
	}}
	return e.run(0, nil)
}

// isSSH reports whether a process is called ssh. The client of a remote engine starts ssh, in a session of its own.
func isSSH(pid int) bool {
	return string(readProcFile("/proc/"+strconv.Itoa(pid)+"/comm")) == "ssh\n"
}
