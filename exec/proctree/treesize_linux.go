// SPDX-License-Identifier: Apache-2.0

package proctree

func sizes() (all []Size) {
	k := newChildLister()
	counts := map[string]int{}
	for pid, c := range k.own() {
		id := ""
		if c != nil {
			id = c.id
		} else if value, ok := markerOf(pid); ok {
			id = string(value)
		}
		s := snapshot{dead: map[int]bool{}}
		k.walk([]int{pid}, &s)
		counts[id] += len(s.alive)
	}
	for id, n := range counts {
		all = append(all, Size{ID: id, Count: n})
	}
	return all
}

func endNow(id string) error {
	e := treeEnding{find: func() snapshot {
		return newChildLister().snapshot(func(pid int, c *Child) bool {
			if c != nil {
				return c.id == id
			}
			return id != "" && hasMarker(pid, id)
		})
	}}
	return e.run(0, nil)
}
