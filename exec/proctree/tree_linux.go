// SPDX-License-Identifier: Apache-2.0

package proctree

func treeOf(id string) []int {
	s := newChildLister().snapshot(func(pid int, c *Child) bool {
		return c != nil && c.id == id || c == nil && hasMarker(pid, id)
	})
	pids := make([]int, len(s.alive))
	for i, m := range s.alive {
		pids[i] = m.pid
	}
	return pids
}
