// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestJSONOfVerbs checks the same for wrong uses of verbs, whose texts and codes differ.
func TestJSONOfVerbs(t *testing.T) {
	for _, tt := range []struct {
		args  string
		code  byte
		first string
	}{
		{"hostexec", 1, "Usage: hostexec <command> [args...]"},
		{"hostexec kill ffff", 1, "hostexec: no such job or call: ffff: hostexec ps lists them"},
		{"hostexec kill", 125, "hostexec: kill wants an id or --all: see hostexec --help"},
		{"hostexec ls --bogus", 125, "hostexec: ls: unknown flag: --bogus: see hostexec --help"},
		{"hostexec ls x", 125, "hostexec: ls takes only --json or --agents: see hostexec --help"},
		{"hostexec wait --bogus x", 125, "hostexec: wait: unknown flag: --bogus: see hostexec --help"},
		{"hostexec session exec --bogus x -- y", 125, "hostexec: session exec: unknown flag: --bogus: see hostexec session --help"},
		{"hostexec session exec x y", 125, "hostexec: session exec wants"},
		{"hostexec session bogus", 125, "hostexec: "},
		{"hostexec session exec --env 1A=b x -- true", 2, "hostexec: "},
	} {
		t.Run(tt.args, func(t *testing.T) {
			s, _ := calltest.NewServer(t)
			s.Shells = &shell.Table{}
			c := calltest.Dial(t, s)
			c.Env = []string{"HOSTEXEC_JSON=1"}
			c.Exec(t, wire.FDNull, strings.Fields(tt.args)...)
			c.Read(t, wire.KindExit)
			first, last, _ := strings.Cut(strings.TrimSuffix(c.Exit.Text, "\n"), "\n")
			var got struct {
				Code         byte
				Reason, Hint string
			}
			err := json.Unmarshal([]byte(last), &got)
			if err != nil || got.Code != tt.code || c.Exit.Code != tt.code || got.Reason == "" || got.Hint == "" || strings.Contains(got.Reason, got.Hint) || !strings.HasPrefix(first, tt.first) {
				t.Errorf("code %d: %q, %v", c.Exit.Code, c.Exit.Text, err)
			}
		})
	}
}
