// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"strconv"

	"golang.org/x/sys/unix"
)

func sizes() (all []Size) {
	k := newChildLister()
	own := k.own()
	leaders := leadersOf(own)
	trees := map[string]*Size{}
	for pid, c := range own {
		id, known := leaders[posixSession(pid)]
		if c != nil {
			id, known = c.id, true
		} else if !known { // otherwise the process cannot choose its ID
			value, _ := markerOf(pid)
			id = string(value)
		}
		tree := trees[id]
		if tree == nil {
			tree = &Size{ID: id}
			trees[id] = tree
		}
		s := snapshot{dead: map[int]bool{}}
		k.walk([]int{pid}, &s)
		tree.Count += len(s.alive)
		if !known {
			tree.Claimed += len(s.alive)
		}
	}
	for _, tree := range trees {
		all = append(all, *tree)
	}
	return all
}

// leadersOf returns the IDs of running commands by their POSIX sessions.
func leadersOf(own map[int]*Child) map[int]string {
	leaders := map[int]string{}
	for _, c := range own {
		if c != nil {
			leaders[c.leader] = c.id
		}
	}
	return leaders
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

func endClaimed(id string) error {
	leaders := leadersOf(newChildLister().own()) // once, so that a command's own orphans live on when it ends meanwhile
	e := treeEnding{find: func() snapshot {
		return newChildLister().snapshot(func(pid int, c *Child) bool {
			if _, known := leaders[posixSession(pid)]; c != nil || known {
				return false
			}
			value, _ := markerOf(pid)
			return string(value) == id
		})
	}}
	return e.run(0, nil)
}

// isSSH reports whether a process is called ssh. The client of a remote engine starts ssh, in a session of its own.
func isSSH(pid int) bool {
	return string(readProcFile("/proc/"+strconv.Itoa(pid)+"/comm")) == "ssh\n"
}
