// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Group identifies the questions of several containers and directories that are equal in everything else: what runs, how
// it runs, and everything that a person is told about it. These can be shown together. Each of them still needs an
// answer of its own. It is empty if q can be shown only alone.
func (q *Question) Group() string {
	if q.Setup == "" {
		return ""
	}
	files := ""
	if q.Inputs != nil {
		files = fmt.Sprint(q.Inputs.Content(), q.Inputs.Copied)
	}
	return digestOf([]string{q.Path, q.Rule, string(q.Grade), q.Setup, files, q.NoInputs, q.Diff}, q.Effects, q.Notes, q.Args, q.offered(), q.Preview.texts())
}

// offered describes which arguments may vary, as a person is told.
func (q *Question) offered() (all []string) {
	for _, o := range q.Offers {
		if len(o.Forms) == 0 {
			continue
		}
		text := fmt.Sprint(o.Argument, o.Forms)
		if slices.Contains(o.Forms, policy.FormPath) {
			text += q.Workspace.Path
		}
		all = append(all, text)
	}
	return all
}
