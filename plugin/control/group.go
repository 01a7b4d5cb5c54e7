// SPDX-License-Identifier: Apache-2.0

package control

import "slices"

// MaxGroup is the maximum number of questions that are shown and answered together.
const MaxGroup = 20

// Groups returns all in groups of questions that differ only in session, container, agent, project, branch and
// directory, in the order of their first questions.
func Groups(all []Question) (groups [][]Question) {
	for _, q := range all {
		i := slices.IndexFunc(groups, func(g []Question) bool { return q.Group != "" && g[0].Group == q.Group && len(g) < MaxGroup })
		if i < 0 {
			groups = append(groups, []Question{q})
			continue
		}
		groups[i] = append(groups[i], q)
	}
	return groups
}

// Merged returns the question that is shown for a group: the first one, with the callers of all. Its deadline is the
// earliest.
func Merged(group []Question) Question {
	q := group[0]
	for _, other := range group[1:] {
		q.Waiting = append(slices.Clip(q.Waiting), other.Waiting...)
		q.Disconnected += other.Disconnected
		q.Earlier = q.Earlier.Plus(other.Earlier)
		if other.Deadline.Before(q.Deadline) {
			q.Deadline = other.Deadline
		}
	}
	return q
}

// Distinct returns the different texts of the questions of a group.
func Distinct(group []Question, text func(Question) string) (all []string) {
	for _, q := range group {
		if t := text(q); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}
