// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package proctree

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func endLost(ids []string, grace time.Duration) (was bool, err error) {
	// This process may be one of them: it does not end itself.
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.Contains(strings.Split(os.Getenv(Marker), "."), id)
	})
	if len(ids) == 0 {
		return false, nil
	}
	e := ending{look: func() sight {
		s := lost(ids)
		was = was || len(s.alive) > 0
		return s
	}}
	return was, e.run(grace, nil)
}

// lost looks at every process that there is.
func lost(ids []string) sight {
	k, s := newKin(), sight{dead: map[int]bool{}}
	var roots []int
	for _, name := range names("/proc") {
		pid, err := strconv.Atoi(name)
		if err == nil && pid != unix.Getpid() && slices.ContainsFunc(ids, func(id string) bool { return hasMarker(pid, id) }) {
			roots = append(roots, pid)
		}
	}
	k.walk(roots, &s)
	return s
}
