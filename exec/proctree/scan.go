// SPDX-License-Identifier: Apache-2.0

package proctree

import "slices"

// ProcessScan is the result of one scan of the host: the keepers, and the sessions that have processes. One scan for
// all sessions is faster than one per session. A nil ProcessScan excludes nothing: every process may run.
type ProcessScan struct {
	sessions map[string]bool // by SessionMarker
	keepers  []keeper
}

// keeper is a process with the arguments of a keeper.
type keeper struct {
	dir      string
	sessions []string // that the process itself belongs to
}

// ScanProcesses scans the processes of the host. It returns nil if each of its tries may have missed a process.
func ScanProcesses() *ProcessScan { return scanProcesses() }

// add records a process with the arguments args that has a marker of each session of ids.
func (s *ProcessScan) add(args, ids []string) {
	for _, id := range ids {
		s.sessions[id] = true
	}
	if len(args) > 2 && args[0] == KeeperName {
		s.keepers = append(s.keepers, keeper{args[2], ids})
	}
}

// MayHaveProcesses reports whether processes of a session may run. If not, EndSessionProcesses would find none.
func (s *ProcessScan) MayHaveProcesses(session string) bool { return s == nil || s.sessions[session] }

// MayHaveKeeper reports whether the keeper of the session with directory dir may run. A running keeper ends what the
// watcher has left. A command of the session can have a keeper's arguments, but it has the session's marker.
func (s *ProcessScan) MayHaveKeeper(dir, session string) bool {
	return s == nil || slices.ContainsFunc(s.keepers, func(k keeper) bool {
		return k.dir == dir && !slices.Contains(k.sessions, session)
	})
}
