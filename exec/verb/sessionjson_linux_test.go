// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
)

// TestSessionJSON checks that exec --json and start --json print their report also if the text does not start. Programs
// got nothing to parse then.
func TestSessionJSON(t *testing.T) {
	s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
	if err := s.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	refusing := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Deny))
	if err := refusing.Shells.Create("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"exec", "start"} {
		for _, tt := range []struct {
			words string
			code  byte
			error string // part of
		}{
			{"--json nosuch -- echo a", 125, "the shell is not ready"},
			{"--json --env 1=2 one -- echo a", 2, "Invalid environment variable name: 1"},
			{"--json --timeout soon one -- echo a", 125, "want a time"},
			{"--bogus --json one -- echo a", 125, "unknown flag: --bogus"},
			{"one --json one -- echo a", 125, "wants the name of one shell"},
			{"--json=true nosuch -- echo a", 125, "the shell is not ready"},
			{"--json one", 125, "wants -- and a text"},
		} {
			c := calltest.HostexecSession(t, s, append([]string{verb}, strings.Split(tt.words, " ")...)...)
			checkReport(t, verb+" "+tt.words, c, verb, tt.code, tt.error)
		}
		c := calltest.HostexecSession(t, refusing, verb, "--json", "one", "--", "echo a")
		checkReport(t, verb+" refused", c, verb, 126, "denied")
		for _, words := range []string{"nosuch -- echo --json", "--json --json=false nosuch -- :", "--bogus one -- --json"} {
			c := calltest.HostexecSession(t, s, append([]string{verb}, strings.Split(words, " ")...)...)
			if c.Exit.Code != 125 || c.Out.Len() > 0 {
				t.Errorf("%s %s: %q, %+v", verb, words, c.Out.String(), c.Exit)
			}
		}
	}
}

// checkReport checks that c got one report of a text that did not start.
func checkReport(t *testing.T, name string, c *calltest.Caller, verb string, code byte, reason string) {
	t.Helper()
	var got struct {
		Type, Command, Error string
		Code                 byte `json:"exit_code"`
	}
	err := json.Unmarshal([]byte(c.Out.String()), &got)
	if err != nil || got.Code != code || !strings.Contains(got.Error, reason) || (got.Type == "complete") != (verb == "start") {
		t.Errorf("%s: %q, %v", name, c.Out.String(), err)
	}
	if verb == "exec" && strings.Contains(name, "-- ") && got.Command != "echo a" {
		t.Errorf("%s: command %q", name, got.Command)
	}
	if c.Exit.Code != code || !strings.Contains(c.Exit.Text, reason) {
		t.Errorf("%s: %+v", name, c.Exit)
	}
}
