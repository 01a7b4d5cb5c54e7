// SPDX-License-Identifier: Apache-2.0

package files

import (
	"time"
)

// maxAnswerAge is the time after which the files of a call are removed if the caller does not fetch them.
const maxAnswerAge = 5 * time.Minute

// sweep removes files that no caller has fetched, because the caller or the host's process died. It keeps the files of
// calls in flight, also those of other processes, which touch a file. A time in the future counts as the time when the
// file was first seen.
func (p *servedDir) sweep(now time.Time) {
	newest := map[string]time.Time{}
	names := map[string][]string{}
	future := map[string]time.Time{}
	p.Dir.Names(func(name string) bool {
		id, kind, ok := split(name)
		if !ok || kind == "req" {
			return true // readRequest answers old requests
		}
		e, err := p.Dir.Stat(name)
		if err != nil || e.Dir {
			return true
		}
		at := e.Mod
		if at.After(now.Add(time.Minute)) {
			if first, seen := p.future[name]; seen {
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
		return len(names) < maxSweptCalls
	})
	p.future = future
	for id, at := range newest {
		if now.Sub(at) <= maxAnswerAge || p.call(id) != nil {
			continue
		}
		for _, name := range names[id] {
			p.Dir.Remove(name)
		}
	}
}

// maxSweptCalls is the number of calls that one sweep handles. The next sweep handles the others.
const maxSweptCalls = 100_000
