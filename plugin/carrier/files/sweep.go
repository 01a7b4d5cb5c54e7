// SPDX-License-Identifier: Apache-2.0

package files

import (
	"time"
)

// orphaned is how old the files of a call have to be that nobody fetches.
const orphaned = 5 * time.Minute

// sweep removes the files of calls that are over and whose caller has not fetched them:
// it died, or the host did. A call in flight is spared, of another process's too: each has a
// file that is never old. A time in the future counts from when it was first seen.
func (p *requestDir) sweep(now time.Time) {
	newest := map[string]time.Time{}
	names := map[string][]string{}
	future := map[string]time.Time{}
	p.Dir.Names(func(name string) bool {
		id, what, ok := split(name)
		if !ok || what == "req" {
			return true // a request is somebody's wish, however old: hear sees to it
		}
		e, err := p.Dir.Stat(name)
		if err != nil || e.Dir {
			return true
		}
		at := e.Mod
		if at.After(now.Add(time.Minute)) {
			if first, seen := p.aged[name]; seen {
				at = first
			} else {
				at = now
			}
			future[name] = at
		}
		if at.After(newest[id]) {
			newest[id] = at
		}
		names[id] = append(names[id], name)
		return len(names) < maxSwept
	})
	p.aged = future
	for id, at := range newest {
		if now.Sub(at) <= orphaned || p.call(id) != nil {
			continue
		}
		for _, name := range names[id] {
			p.Dir.Remove(name)
		}
	}
}

// maxSwept is how many calls a sweep looks at. What is left is the next one's.
const maxSwept = 100_000
