// SPDX-License-Identifier: Apache-2.0

package git

import "github.com/docker-hostexec/hostexec/exec/names"

// Overlap says which commands may run at the same time in one work tree. A check holds for the submodules that the
// index had at that time. So a command that enters submodules of the index is safe only while no other command
// adds some.
type Overlap int

const (
	Independent      Overlap = iota // any command may run at the same time
	EntersSubmodules                // it enters submodules of the index
	Changes                         // it may change the index or the configuration, of the work tree or a submodule
)

// entering are the verbs that write nothing but a refreshed index, and look into submodules.
var entering = names.WordSet(`describe diff diff-files diff-index status`)

// Overlaps returns the Overlap of args, with argv[0]. host is as in Check.
func Overlaps(args []string, host bool) Overlap {
	l, ok := parse(args, host)
	switch {
	case !ok:
		return Changes
	case entering(l.verb):
		if l.reach(&config{}) == own {
			return Independent
		}
		return EntersSubmodules
	case l.reads(), l.verb == "fetch", l.verb == "push", l.verb == "ls-remote":
		return Independent
	}
	return Changes
}
