// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/docker/cli/cli/command/formatter"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// TestPendingWidth checks that a usual request fits into a line of a terminal.
func TestPendingWidth(t *testing.T) {
	now := time.Now()
	r := newPendingRow(nil, control.Question{
		ID: "0123456789abcdef", Container: "optimistic_hopper", Args: []string{"git", "push"}, Dir: "/home/you/app",
		Asked: now.Add(-90 * time.Second), Deadline: now.Add(4 * time.Minute),
	}, true, now)
	var out bytes.Buffer
	c := formatter.Context{Output: &out, Format: pendingTable}
	if err := cli.WriteRows(c, []*pendingRow{r}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("%d characters: %s", len(line)-1, line)
		}
	}
}

// TestConditions checks that --watch offers only the keys that a request has.
func TestConditions(t *testing.T) {
	files := &control.Inputs{Files: []control.InputFile{{Path: "a"}}}
	for _, tt := range []struct {
		q    control.Question
		want string
	}{
		{control.Question{}, ""},
		{control.Question{Inputs: files, Vary: []control.Offer{{Argument: 1, Forms: []policy.Form{policy.FormNumber}}}}, "u while its files are unchanged, v with other arguments, "},
	} {
		if got := optionalKeys(tt.q); got != tt.want {
			t.Errorf("optionalKeys(%+v) = %q, want %q", tt.q, got, tt.want)
		}
	}
}

// TestPendingFiles checks that a row has the files of a request and their changes, for programs that answer.
func TestPendingFiles(t *testing.T) {
	row := func(q control.Question) *pendingRow { return newPendingRow(nil, q, false, time.Now()) }
	r := row(control.Question{Inputs: &control.Inputs{Files: []control.InputFile{{Path: "a"}}, Unbound: []string{"b"}}, Diff: "-x\n+y\n"})
	if got, want := r.Files+r.Diff, "a (not bound: b)-x\n+y\n"; got != want {
		t.Errorf("the row has %q, want %q", got, want)
	}
	if got := row(control.Question{NoInputs: "no script"}).Files; got != "no script" {
		t.Errorf("without files: %q", got)
	}
}
