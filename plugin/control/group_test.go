// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
)

func TestGroups(t *testing.T) {
	question := func(id, group string) Question { return Question{ID: id, Group: group} }
	all := []Question{question("1", "a"), question("2", ""), question("3", "b"), question("4", "a"), question("5", "")}
	for i := range MaxGroup {
		all = append(all, question(fmt.Sprint("m", i), "many"))
	}
	all = append(all, question("last", "many"))
	var got []string
	for _, g := range Groups(all) {
		got = append(got, strings.Join(Distinct(g, func(q Question) string { return q.ID }), ","))
	}
	want := []string{"1,4", "2", "3", "5", "m0", "last"}
	if len(got) == len(want) {
		got[4], _, _ = strings.Cut(got[4], ",")
	}
	if !slices.Equal(got, want) {
		t.Errorf("Groups = %q, want %q", got, want)
	}
}

func TestMerged(t *testing.T) {
	now := time.Now()
	first := Question{ID: "1", Waiting: []string{"1", "2"}, Disconnected: 1, Deadline: now.Add(time.Minute), Earlier: approval.Earlier{Asked: 2, Approved: 1}}
	second := Question{ID: "3", Waiting: []string{"3"}, Disconnected: 1, Deadline: now, Earlier: approval.Earlier{Asked: 1, Denied: 1}}
	q := Merged([]Question{first, second})
	if q.ID != "1" || !slices.Equal(q.Waiting, []string{"1", "2", "3"}) || q.Disconnected != 2 || !q.Deadline.Equal(now) || q.Earlier != (approval.Earlier{Asked: 3, Approved: 1, Denied: 1}) {
		t.Errorf("Merged = %+v", q)
	}
	if len(first.Waiting) != 2 {
		t.Errorf("the first question has become %+v", first)
	}
}

// TestGroupIsOfTheQuestion checks that lists have the group of a question, unless its texts are cut.
func TestGroupIsOfTheQuestion(t *testing.T) {
	q := approval.Question{ID: "1", Args: []string{"make"}, Setup: "x"}
	if got := listed(q).Group; got == "" || got != q.Group() {
		t.Errorf("the group is %q, want %q", got, q.Group())
	}
	q.Args = append(q.Args, strings.Repeat("x", maxListedQuestion))
	if got := listed(q); got.Group != "" || shown(q).Group == "" {
		t.Errorf("the group of a cut question is %q, and of a complete one %q", got.Group, shown(q).Group)
	}
}
