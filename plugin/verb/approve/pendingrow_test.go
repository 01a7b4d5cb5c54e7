// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/docker/cli/cli/command/formatter"

	"github.com/docker-hostexec/hostexec/plugin/control"
)

// TestPendingWidth: a usual request takes a line of a terminal.
func TestPendingWidth(t *testing.T) {
	now := time.Now()
	r := newPendingRow()
	r.now, r.trunc = now, true
	r.q = control.Question{
		ID: "0123456789abcdef", Container: "optimistic_hopper", Args: []string{"git", "push"}, Dir: "/home/you/app",
		Asked: now.Add(-90 * time.Second), Deadline: now.Add(4 * time.Minute),
	}
	var out bytes.Buffer
	c := formatter.Context{Output: &out, Format: pendingTable}
	if err := c.Write(newPendingRow(), func(row func(formatter.SubContext) error) error { return row(r) }); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("%d characters: %s", len(line)-1, line)
		}
	}
}
