// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Group identifies questions that are equal except for session, container, project, branch, agent and directory. The
// same program runs in the same way, and a person is shown the same facts about it. They can be shown together, but
// each needs an answer of its own. Group returns "" if q can be shown only alone.
func (q *Question) Group() string {
	if q.Setup == "" {
		return ""
	}
	files := ""
	if q.Inputs != nil {
		files = fmt.Sprint(q.Inputs.ContentDigest(), q.Inputs.Copied)
	}
	return digestOf([]string{q.Path, q.Rule, string(q.Grade), q.Setup, files, q.NoInputs, q.Diff}, q.Effects, q.Notes, q.Named(), q.offered(), q.Preview.texts())
}

// offered describes the arguments that may vary, as a person is shown them.
func (q *Question) offered() (all []string) {
	for _, o := range q.Offers {
		if len(o.Forms) == 0 {
			continue
		}
		text := fmt.Sprint(o.Argument, o.Forms)
		if slices.Contains(o.Forms, policy.FormPath) {
			text += q.Mount.Target
		}
		all = append(all, text)
	}
	return all
}
