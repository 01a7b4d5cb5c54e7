// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// mostApproved returns the rules with the most approvals, and the number of the others.
func mostApproved(rules []policy.Learned) (most []policy.Learned, more int) {
	most = slices.SortedStableFunc(slices.Values(rules), func(a, b policy.Learned) int { return cmp.Compare(b.Times, a.Times) })
	most = most[:min(len(most), maxLearnedRules)]
	slices.SortStableFunc(most, func(a, b policy.Learned) int { return cmp.Compare(a.Command, b.Command) })
	return most, len(rules) - len(most)
}

// maxSkipped limits the reasons that are shown.
const maxSkipped = 20

// show prints the diff and the replay on out, and what is not proposed on notes.
func (l *learnResult) show(out, notes io.Writer) error {
	for i, s := range l.skipped {
		if i == maxSkipped {
			cli.Say(notes, "and %d more reasons: --json shows them", len(l.skipped)-i)
			break
		}
		of := ""
		if s.Command != "" {
			of = " of " + s.Command
		}
		cli.Say(notes, "not proposed: %s%s: %s", cli.Count(s.Times, "approved call"), of, s.Reason)
	}
	if l.more > 0 {
		cli.Say(notes, "%s more are not shown: write these first", cli.Count(l.more, "rule"))
	}
	if len(l.change.Added) == 0 {
		cli.Say(notes, "nothing to learn: no rule may allow an approved call that would ask again")
		return nil
	}
	fmt.Fprintln(out, l.change.Diff())
	return l.replayed.show(out, notes)
}

// learnedJSON is a rule of the JSON output.
type learnedJSON struct {
	Rule      string                `json:"rule"`
	Approvals int                   `json:"approvals"`
	Matches   string                `json:"matches"`
	Effects   []string              `json:"effects,omitempty"`
	Confined  bool                  `json:"confined"`
	Test      map[string][][]string `json:"test"`
}

// replayJSON is the result of replay in the JSON output.
type replayJSON struct {
	Requests  int          `json:"requests"`
	Different int          `json:"different"`
	Unknown   int          `json:"unknown"`
	Changes   []changeJSON `json:"changes"`
}

type changeJSON struct {
	Times int `json:"times"`
	change
}

// writeJSON writes the rules if o wants that, and prints everything as one object.
func (l *learnResult) writeJSON(out io.Writer, o learnOptions) error {
	all := struct {
		File    string         `json:"file"`
		Written bool           `json:"written"`
		Rules   []learnedJSON  `json:"rules"`
		More    int            `json:"more"`
		Left    []skippedCalls `json:"not_proposed"`
		Diff    string         `json:"diff"`
		Replay  replayJSON     `json:"replay"`
	}{File: l.change.File, Rules: []learnedJSON{}, More: l.more, Left: l.skipped, Diff: l.change.Diff(), Replay: l.replayed.forJSON()}
	for _, r := range l.change.Added {
		all.Rules = append(all.Rules, learnedJSON{
			Rule: r.Rule.Title(r.Command), Approvals: r.Times, Matches: r.Rule.Shape(), Effects: r.Rule.Effects, Confined: r.Rule.Confined,
			Test: map[string][][]string{"yes": r.Rule.MustMatch, "no": r.Rule.MustNotMatch},
		})
	}
	if all.Left == nil {
		all.Left = []skippedCalls{}
	}
	if o.write && len(l.change.Added) > 0 {
		if err := l.change.Write(); err != nil {
			return err
		}
		all.Written = true
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(names.ASCIIJSON(b), '\n'))
	return err
}

func (r *redecision) forJSON() replayJSON {
	j := replayJSON{Requests: r.requests, Different: r.different(), Unknown: r.partial, Changes: []changeJSON{}}
	for _, c := range r.sorted() {
		j.Changes = append(j.Changes, changeJSON{r.changes[c], c})
	}
	return j
}
