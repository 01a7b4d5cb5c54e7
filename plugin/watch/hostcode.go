// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// HostCode returns a sentence for each of grades that commands have. It names those that run on this host without a
// sandbox and are not denied. from describes the files whose code they run.
func HostCode(p *policy.Policy, commands []state.Command, from string, grades ...policy.Grade) (texts []string) {
	for _, grade := range grades {
		var names []string
		for _, c := range commands {
			if c.Action != "deny" && !p.Place(c.Name).Confined() && p.Grade(c.Name, c.Path) == grade {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			texts = append(texts, grade.Label()+": "+grade.Sentence(from, names...))
		}
	}
	return texts
}
