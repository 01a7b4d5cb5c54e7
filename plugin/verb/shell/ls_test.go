// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestShellsWidth checks that a usual shell fits into a line of a terminal.
func TestShellsWidth(t *testing.T) {
	r := newShellRow(
		state.Session{ID: "0123456789ab", ContainerName: "optimistic_hopper"},
		shell.Info{Name: "dev", PID: 123456, Dir: "/home/you/app", Since: time.Now().Add(-90 * time.Second)},
	)
	var out bytes.Buffer
	if err := writeShells(&out, []*shellRow{r}, "table"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("%d characters: %s", len(line)-1, line)
		}
	}
}
