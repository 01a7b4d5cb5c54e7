// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// paths reports path arguments that the container can replace between the check and their use. It
// also reports writes to a snapshot, which are lost.
func (l *linter) paths(s subject) {
	if s.Do == Deny || s.Fixed != nil || s.set.Place.InContainer() {
		return
	}
	for _, e := range s.Argv {
		switch {
		case e.Kind != KindPath:
		case e.Snapshot == SnapshotNone && e.Type == TypeDir: // a directory cannot be copied, and the rule says snapshot: false
		// Git is exempt: its pathspecs are names, and it opens its work tree without them.
		case e.Snapshot == SnapshotNone && !slices.Contains(s.names, "git"):
			l.add(s.Position, s.title, false, "snapshot: false: when the command opens the path, the container may have put a link to another file of this host there")
		case e.Snapshot != SnapshotNone && slices.Contains(s.Effects, "write"):
			l.add(s.Position, s.title, false, "effects has write, but a file that path names is a copy: what is written to it is lost, unless snapshot is false")
		case e.Type == TypeDir, e.Type == TypeAny && e.Snapshot == SnapshotFiles:
			l.add(s.Position, s.title, false, "a directory is not copied: when the command opens the path, or what is below it, the container may have put a link to another one of this host there; use type: file, or accept it with snapshot: false")
		}
	}
}
